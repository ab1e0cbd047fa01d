// The parts of AG Grid Community that the results site uses, as `window.agGrid`.
import {
  CellApiModule, CellStyleModule, ClientSideRowModelApiModule, ClientSideRowModelModule, ColumnApiModule, EventApiModule,
  ExternalFilterModule, ModuleRegistry, RenderApiModule, RowApiModule, RowSelectionModule, RowStyleModule, ScrollApiModule,
  createGrid,
} from "ag-grid-community";

ModuleRegistry.registerModules([
  CellApiModule, CellStyleModule, ClientSideRowModelApiModule, ClientSideRowModelModule, ColumnApiModule, EventApiModule,
  ExternalFilterModule, RenderApiModule, RowApiModule, RowSelectionModule, RowStyleModule, ScrollApiModule,
]);

window.agGrid = { createGrid };
