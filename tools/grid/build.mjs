// Bundles entry.js and writes it to the site's vendor folder, with the structural styles that it uses and the licence; prints
// the digests that vendor/README.txt lists.
import { build } from "esbuild";
import { createHash } from "node:crypto";
import { copyFileSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { trim } from "./trim.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const source = join(here, "node_modules", "ag-grid-community");
const vendor = join(here, "..", "..", "harness", "leaderboard", "site", "assets", "vendor");
const { version } = JSON.parse(readFileSync(join(source, "package.json"), "utf8"));
const name = (end) => join(vendor, `ag-grid${end}`);

await build({
  entryPoints: [join(here, "entry.js")],
  outfile: name(".min.js"),
  bundle: true,
  minify: true,
  format: "iife",
  target: "es2022",
  legalComments: "none",
  banner: { js: `/* AG Grid Community ${version}, MIT licence: ag-grid.LICENSE.txt */` },
});
writeFileSync(name(".css"), trim(readFileSync(join(source, "styles", "ag-grid.min.css"), "utf8"), readFileSync(name(".min.js"), "utf8")));
copyFileSync(join(source, "LICENSE.txt"), name(".LICENSE.txt"));
for (const end of [".min.js", ".css"]) {
  console.log(`ag-grid${end}`, version, createHash("sha256").update(readFileSync(name(end))).digest("hex"));
}
