import type { Failure } from '../server-health';
import type { SkippedTool } from '../tool-faults';
import type { ToolChanges } from '../tool-store';

/** What triggered a check: the schedule, or a request to `test` or `refresh`. */
export const CHECK_TRIGGERS = ['schedule', 'request'] as const;
export type CheckTrigger = (typeof CHECK_TRIGGERS)[number];

/** The name and version that a server reports about itself. */
export interface ServerInfo {
  name: string;
  version: string;
  title: string | null;
}

/** The outcome of a check. A failed check has only `error`. */
export interface CheckOutcome {
  error: Failure | null;
  /** Milliseconds from connecting until all tools were listed. */
  latencyMs: number | null;
  protocolVersion: string | null;
  serverInfo: ServerInfo | null;
  changes: ToolChanges | null;
  skipped: SkippedTool[] | null;
}

/** A stored check. */
export interface CheckRow {
  server_id: string;
  check_ordinal: number;
  trigger: CheckTrigger;
  checked_at: Date;
  latency_ms: number | null;
  protocol_version: string | null;
  server_info: ServerInfo | null;
  error: Failure | null;
  added_count: number | null;
  updated_count: number | null;
  archived_count: number | null;
  unchanged_count: number | null;
  skipped: SkippedTool[] | null;
}
