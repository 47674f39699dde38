export { decodeCursor, encodeCursor } from './cursor';
export { BY_CREATION, listPage, type ListSpec, type RowPage, type SortKey } from './list-page';
export {
  ListQueryDto,
  OFFSET_MAX,
  type Page,
  PAGE_SIZE_DEFAULT,
  PAGE_SIZE_MAX,
  PageMetaDto,
  ToBoolean,
  ToInteger,
  TOTAL_MAX,
} from './page.dto';
