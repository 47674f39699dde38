export { createdWithin } from './created';
export {
  checkStart,
  decodeCursor,
  encodeCursor,
  foreignCursor,
  pageOf,
  type RowPage,
  toPage,
} from './cursor';
export { filteredBatches } from './filtered-batches';
export { listPage } from './list-page';
export {
  BY_CHANGE,
  BY_CREATION,
  BY_FREQUENT_CHANGE,
  BY_NAME,
  type ListSpec,
  type RowPlace,
  type ScanRules,
  type SortKey,
} from './list-spec';
export {
  ChangingListQueryDto,
  ListQueryDto,
  NamedListQueryDto,
  OrderedListQueryDto,
  PageQueryDto,
  type Page,
  PAGE_BYTES,
  PAGE_SIZE_DEFAULT,
  PAGE_SIZE_MAX,
  PageMetaDto,
  PageOf,
  SortedBy,
  ToBoolean,
  ToInteger,
  ToNumber,
  TOTAL_MAX,
} from './page.dto';
export { searchAsList } from './search-as-list';
export { scanEnd } from './scan';
