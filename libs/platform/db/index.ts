export { DELETE_BATCH, deleteInBatches, inChunks } from './batches';
export { type BulkColumn, BulkColumns } from './bulk-columns';
export { Database } from './database';
export { DatabaseModule } from './database.module';
export type { EntityClass } from './entity-table';
export type { SqlExecutor, Statement, Tx } from './executor';
export { followIndexes, indexOrdered } from './index-order';
export { RolledBack } from './joined-transaction';
export { JsonColumn } from './json-column';
export { ArchivableEntity, StampedEntity } from './stamped.entity';
export {
  empty,
  firstRow,
  join,
  microsecondsToTime,
  minuteOf,
  prepared,
  raw,
  sql,
  type Sql,
  timeToMicroseconds,
} from './sql';
export { StatisticsRepository } from './statistics.repository';
export { Where } from './where';
export { readWithin } from './timed-reads';
export {
  OrgScopedRepository,
  type OrgRow,
  WorkspaceScopedRepository,
  type WorkspaceRow,
} from './tenant-repository';
export { WatchedClient } from './watched-client';
