export { type ArrayElements, arrayParameter, type ArrayType } from './array-parameter';
export { type BulkColumn, BulkColumns } from './bulk-columns';
export { Database } from './database';
export { DatabaseModule, dataSourceOptions } from './database.module';
export type { PreparedStatement, SqlExecutor, Tx } from './executor';
export { JsonColumn } from './json-column';
export { ArchivableEntity, StampedEntity } from './stamped.entity';
export { Where } from './where';
export { OrgRepository, type OrgRow, WorkspaceRepository, type WorkspaceRow } from './tenant-repository';
