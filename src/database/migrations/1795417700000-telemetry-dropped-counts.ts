import { SqlMigration } from './sql-migration';

/** Adds the numbers of attributes, events and links that were dropped from a span. */
export class TelemetryDroppedCounts1795417700000 extends SqlMigration {
  protected readonly sql = `
    -- by the sender or by the limits of the service; null if none were dropped, as for nearly all spans
    ALTER TABLE spans
      ADD COLUMN dropped_attributes_count bigint,
      ADD COLUMN dropped_events_count bigint,
      ADD COLUMN dropped_links_count bigint;`;
}
