export {
  type EmbeddedPostgres,
  type EmbeddedPostgresOptions,
  startEmbeddedPostgres,
} from './embedded-postgres';
export { freePort } from './free-port';
export { type HeldProcess, type HoldOptions, holdProcess } from './held-process';
