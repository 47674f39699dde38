import { Injectable } from '@nestjs/common';
import { BulkColumns, inChunks, prepared, raw, sql, type Tx } from '#platform/db';
import { isModelCall } from './span-record';
import type { TraceLocation } from './trace.types';
import type { UsageAncestor, UsageGap, UsageState } from './usage-tree';

/** Something about a span of a trace. */
export interface OfTrace extends TraceLocation {
  workspaceId: string;
  spanId: string;
}

type GapRow = OfTrace & UsageState;

const PLACE = [
  { name: 'workspace_id', type: 'text', value: ({ workspaceId }: OfTrace) => workspaceId },
  { name: 'trace_no', type: 'int8', value: ({ trace_no }: OfTrace) => trace_no },
  { name: 'span_id', type: 'int8', value: ({ spanId }: OfTrace) => spanId },
] as const;
const DAY = { name: 'day', type: 'date', value: ({ day }: OfTrace) => day } as const;
const STATE = [
  { name: 'usage_flags', type: 'int4', value: ({ flags }: GapRow) => flags },
  { name: 'unpriced_calls', type: 'int4', value: ({ unpriced }: GapRow) => unpriced.calls },
  { name: 'unpriced_steps', type: 'int4', value: ({ unpriced }: GapRow) => unpriced.steps },
  { name: 'estimated_steps', type: 'int4', value: ({ estimates }: GapRow) => estimates },
] as const;

const PLACES = new BulkColumns<OfTrace>([...PLACE]);
const DATED = new BulkColumns<OfTrace>([...PLACE, DAY]);
const GAPS = new BulkColumns<GapRow>([...PLACE, ...STATE]);
const STATES = new BulkColumns<GapRow>([...PLACE, DAY, ...STATE]);

/** The columns of a span or gap `s`. */
const COLUMNS =
  raw(`s.workspace_id, s.trace_no, s.day, s.span_id, s.parent_span_id, s.operation, s.model, s.input_tokens,
  s.output_tokens, s.cost_usd, s.usage_flags, s.unpriced_calls, s.unpriced_steps, s.estimated_steps`);

const HEX = (column: string) => raw(`lpad(to_hex(${column}), 16, '0')`);

/**
 * Maximum number of spans above new ones that are read, in addition to one per new span. Deeper nesting is a mistake, and
 * climbing it for each span would take quadratic time.
 */
const ANCESTORS_MAX = 1_000;

interface StateRow {
  trace_no: number;
  span_id: string;
  usage_flags: number | null;
  unpriced_calls: number | null;
  unpriced_steps: number | null;
  estimated_steps: number | null;
}

interface AncestorRow extends StateRow {
  parent_span_id: string | null;
  operation: string | null;
  model: string | null;
  input_tokens: number | null;
  output_tokens: number | null;
  cost_usd: number | null;
}

const toState = (row: StateRow): UsageState => ({
  flags: row.usage_flags ?? 0,
  unpriced: { calls: row.unpriced_calls ?? 0, steps: row.unpriced_steps ?? 0 },
  estimates: row.estimated_steps ?? 0,
});

/** Reads and writes what is known about the usage below spans. Every method works under the locks of the traces. */
@Injectable()
export class UsageWriteRepository {
  /** Deletes the gaps of parents that have arrived. @returns the gaps by trace number */
  async closeGaps(tx: Tx, arrived: readonly OfTrace[]): Promise<Map<number, UsageGap[]>> {
    const rows = await inChunks(arrived, (chunk) =>
      tx.query<StateRow>(
        prepared(
          'span-gap.close',
          sql`DELETE FROM span_gaps g USING ${PLACES.table(chunk, 'arrived')}
            WHERE g.workspace_id = arrived.workspace_id AND g.trace_no = arrived.trace_no AND g.span_id = arrived.span_id
            RETURNING g.trace_no, ${HEX('g.span_id')} AS span_id, g.usage_flags, g.unpriced_calls, g.unpriced_steps,
              g.estimated_steps`,
        ),
      ),
    );
    return byTrace(rows, (row) => ({ spanId: row.span_id, ...toState(row) }));
  }

  /**
   * Reads the stored spans above new spans, by trace number. Stops above a span that knows of every measure, because the spans
   * above it do too.
   *
   * @param parents the distinct parents that are not among the new spans
   */
  async ancestors(tx: Tx, parents: readonly OfTrace[]): Promise<Map<number, UsageAncestor[]>> {
    const days = daysOf(parents);
    const rows = await inChunks(parents, (chunk) =>
      tx.query<AncestorRow>(
        sql`WITH RECURSIVE above AS (
            SELECT ${COLUMNS} FROM ${DATED.table(chunk, 'parent')} CROSS JOIN LATERAL (
              SELECT * FROM spans s WHERE s.workspace_id = parent.workspace_id AND s.day = parent.day AND s.day = ANY (${days}::date[])
                AND s.trace_no = parent.trace_no AND s.span_id = parent.span_id OFFSET 0) s
            UNION
            SELECT ${COLUMNS} FROM above CROSS JOIN LATERAL (
              SELECT * FROM spans s WHERE s.workspace_id = above.workspace_id AND s.day = above.day AND s.day = ANY (${days}::date[])
                AND s.trace_no = above.trace_no AND s.span_id = above.parent_span_id OFFSET 0) s
            WHERE coalesce(above.usage_flags & 7, 0) <> 7
          )
          SELECT trace_no, ${HEX('span_id')} AS span_id, ${HEX('parent_span_id')} AS parent_span_id, operation, model,
            input_tokens, output_tokens, cost_usd, usage_flags, unpriced_calls, unpriced_steps, estimated_steps
          FROM above LIMIT ${chunk.length + ANCESTORS_MAX}`,
      ),
    );
    return byTrace(rows, (row) => ({
      ...toState(row),
      spanId: row.span_id,
      parentSpanId: row.parent_span_id,
      isStep: !isModelCall(row),
      model: row.model,
      inputTokens: row.input_tokens,
      outputTokens: row.output_tokens,
      costUsd: row.cost_usd,
    }));
  }

  /** Sets the states of stored spans. */
  async setStates(tx: Tx, states: readonly GapRow[]): Promise<void> {
    await inChunks(states, (chunk) =>
      tx.query(
        sql`UPDATE spans s SET usage_flags = state.usage_flags, unpriced_calls = nullif(state.unpriced_calls, 0),
            unpriced_steps = nullif(state.unpriced_steps, 0), estimated_steps = nullif(state.estimated_steps, 0)
          FROM ${STATES.table(chunk, 'state')}
          WHERE s.workspace_id = state.workspace_id AND s.day = state.day AND s.day = ANY (${daysOf(states)}::date[])
            AND s.trace_no = state.trace_no AND s.span_id = state.span_id`,
      ),
    );
  }

  /** Adds to gaps, which are sorted by their keys. @returns how many are new, by trace number */
  async addGaps(tx: Tx, gaps: readonly GapRow[]): Promise<Map<number, number>> {
    const rows = await inChunks(gaps, (chunk) =>
      tx.query<{ trace_no: number; is_new: boolean }>(
        prepared(
          'span-gap.add',
          sql`INSERT INTO span_gaps AS g (${GAPS.columnList}) SELECT ${GAPS.columnList} FROM ${GAPS.table(chunk, 'gap')}
            ON CONFLICT (trace_no, span_id) DO UPDATE SET usage_flags = g.usage_flags | excluded.usage_flags,
              unpriced_calls = g.unpriced_calls + excluded.unpriced_calls,
              unpriced_steps = g.unpriced_steps + excluded.unpriced_steps,
              estimated_steps = g.estimated_steps + excluded.estimated_steps
            WHERE (g.usage_flags | excluded.usage_flags, excluded.unpriced_calls, excluded.unpriced_steps,
              excluded.estimated_steps) <> (g.usage_flags, 0, 0, 0)
            RETURNING trace_no, xmax = 0 AS is_new`,
        ),
      ),
    );
    const counts = new Map<number, number>();
    for (const { trace_no, is_new } of rows)
      if (is_new) counts.set(trace_no, (counts.get(trace_no) ?? 0) + 1);
    return counts;
  }
}

/** Days are both joined and listed, so that PostgreSQL plans only for their partitions. */
const daysOf = (places: readonly OfTrace[]): string[] => [...new Set(places.map(({ day }) => day))];

function byTrace<Row extends { trace_no: number }, Item>(
  rows: readonly Row[],
  toItem: (row: Row) => Item,
): Map<number, Item[]> {
  const items = new Map<number, Item[]>();
  for (const row of rows) {
    const ofTrace = items.get(row.trace_no);
    if (ofTrace) ofTrace.push(toItem(row));
    else items.set(row.trace_no, [toItem(row)]);
  }
  return items;
}
