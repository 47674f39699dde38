export { addCreated, CreatedListQueryDto } from './created.dto';
export { decodeCursor, encodeCursor, totalOf, withTotal } from './cursor';
export { listPage, type ListSpec, type RowPage } from './list-page';
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
export { scanEnd, scanPage, scanRanges, type ScanSpec } from './scan-page';
export { BY_CHANGE, BY_CREATION, BY_FREQUENT_CHANGE, BY_NAME, type SortKey } from './sorts';
