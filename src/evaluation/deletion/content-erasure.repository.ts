import { Injectable } from '@nestjs/common';
import { raw, sql, type Sql, type Tx } from '#platform/db';
import {
  type ErasedCounts,
  type ErasureBatch,
  type ErasureItemKind,
  ErasureItems,
  type ErasureRun,
} from '../../resources';
import { RecordRepository } from '../datasets';
import { passItems } from './erasure-passes';

const SCORES = 1_000;
const NOTHING: ErasedCounts = {};
/** The traces and sessions whose data is erased. */
const SOURCES = ['trace', 'session'] as const;

const columnOf = (kind: ErasureItemKind): Sql => raw(kind === 'trace' ? 'trace_id' : 'session_id');

/** Erases the content of results, the scores and the records that were made from erased traces and sessions. */
@Injectable()
export class ContentErasureRepository {
  constructor(
    private readonly items: ErasureItems,
    private readonly records: RecordRepository,
  ) {}

  /** Adds the results that name a trace or a session, and the records that were made from one, to the items. */
  collect(tx: Tx, erasure: ErasureRun, cursor: string | null): Promise<ErasureBatch> {
    const { workspaceId, isDryRun } = erasure;
    return passItems(this.items, tx, erasure, SOURCES, cursor, async (kind, ids) => {
      const results = await this.items.add(
        tx,
        erasure,
        'result',
        sql`SELECT result_id AS id FROM results
          WHERE workspace_id = ${workspaceId} AND ${columnOf(kind)} = ANY (${ids}::text[])`,
      );
      const records = await this.items.add(tx, erasure, 'record', recordsOf(erasure, kind, ids));
      return isDryRun ? { results, records } : NOTHING;
    });
  }

  /**
   * Erases the content of the collected results that still name an erased trace or session. Their cases, numbers and scores
   * stay. Locks experiments before results, like all writers.
   */
  eraseResults(tx: Tx, erasure: ErasureRun, cursor: string | null): Promise<ErasureBatch> {
    const { workspaceId, erasureId, isDryRun } = erasure;
    if (isDryRun) return Promise.resolve({ counts: {}, next: null });
    return passItems(this.items, tx, erasure, ['result'], cursor, async (_, ids) => {
      const isSource = (kind: ErasureItemKind): Sql =>
        sql`EXISTS (SELECT FROM erasure_items i WHERE i.erasure_id = ${erasureId} AND i.workspace_id = ${workspaceId}
          AND i.item_kind = ${kind} AND i.item_id = results.${columnOf(kind)})`;
      await tx.query(
        sql`UPDATE experiments SET generation = generation + 1 WHERE experiment_id = ANY (ARRAY(
            SELECT experiment_id FROM experiments WHERE workspace_id = ${workspaceId} AND experiment_id = ANY (ARRAY(
              SELECT experiment_id FROM results
              WHERE result_id = ANY (${ids}::text[]) AND (workspace_id = ${workspaceId}) IS TRUE))
            ORDER BY experiment_id FOR UPDATE))`,
      );
      const erased = await tx.query(
        sql`WITH locked AS MATERIALIZED (
            SELECT experiment_id, result_id FROM results
            WHERE result_id = ANY (${ids}::text[]) AND (workspace_id = ${workspaceId}) IS TRUE
              AND (${isSource('trace')} OR ${isSource('session')})
            ORDER BY result_id FOR UPDATE
          )
          UPDATE results r
          SET input = NULL, expected = NULL, output = NULL, metadata = '{}', tags = '{}', trace_id = NULL, session_id = NULL,
              error = CASE WHEN error IS NOT NULL THEN '{"erased": true}'::json END, erased = true,
              generation = generation + 1, updated_at = now()
          FROM locked
          WHERE r.experiment_id = locked.experiment_id AND r.result_id = locked.result_id AND r.workspace_id = ${workspaceId}
          RETURNING 1`,
      );
      return { results: erased.length };
    });
  }

  /** Deletes the records that were made from erased traces and sessions, also those that were stored in the meantime. */
  eraseRecords(tx: Tx, erasure: ErasureRun, cursor: string | null): Promise<ErasureBatch> {
    const { workspaceId, isDryRun } = erasure;
    if (isDryRun) return Promise.resolve({ counts: {}, next: null });
    return passItems(this.items, tx, erasure, SOURCES, cursor, async (kind, ids) => {
      const rows = await tx.query<{ id: string }>(recordsOf(erasure, kind, ids));
      return {
        records:
          rows.length === 0
            ? 0
            : await this.records.deleteMany(
                tx,
                workspaceId,
                rows.map(({ id }) => id),
              ),
      };
    });
  }

  /** Deletes the scores of erased traces and sessions. Scores of results that name them keep their numbers and labels. */
  eraseScores(tx: Tx, erasure: ErasureRun, cursor: string | null): Promise<ErasureBatch> {
    const { workspaceId, subject, isDryRun } = erasure;
    return passItems(this.items, tx, erasure, SOURCES, cursor, async (kind, ids) => {
      const isOfSource = sql`workspace_id = ${workspaceId} AND ${columnOf(kind)} = ANY (${ids}::text[])`;
      const isTarget = sql`${isOfSource} AND target_kind = ${kind}`;
      if (isDryRun) {
        // the scores of traces are counted with these
        if (kind === 'trace') return NOTHING;
        const [row] = await tx.query<{ count: number }>(
          sql`SELECT count(*) AS count FROM scores WHERE ${isTarget}`,
        );
        return { scores: row!.count };
      }
      const deleted = await tx.query(sql`DELETE FROM scores WHERE ${isTarget} RETURNING 1`);
      // deleted traces leave the results that name them as they are
      if (subject !== 'traces') {
        await tx.query(
          sql`UPDATE scores SET comment = NULL, answers = NULL, metadata = '{}', trace_id = NULL, session_id = NULL
            WHERE ${isOfSource} AND target_kind = 'result'`,
        );
      }
      return { scores: deleted.length };
    });
  }

  /** Deletes the scores that an end user gave, and removes the name from the scores of others. */
  async eraseAuthor(tx: Tx, { erasureId, workspaceId, id, isDryRun }: ErasureRun): Promise<ErasureBatch> {
    const isByAuthor = sql`workspace_id = ${workspaceId} AND author = ${id}`;
    if (isDryRun) {
      const [row] = await tx.query<{ count: number }>(
        sql`SELECT count(*) AS count FROM scores s WHERE ${isByAuthor} AND source = 'end_user'
          AND NOT EXISTS (SELECT FROM erasure_items i WHERE i.erasure_id = ${erasureId}
            AND i.workspace_id = s.workspace_id AND i.item_kind = s.target_kind AND i.item_id = s.target_id)`,
      );
      return { counts: { scores: row!.count }, next: null };
    }
    const some = (condition: Sql): Sql =>
      sql`ctid = ANY (ARRAY(SELECT ctid FROM scores WHERE ${isByAuthor} AND ${condition} LIMIT ${SCORES}))`;
    const deleted = await tx.query(
      sql`DELETE FROM scores WHERE ${some(sql`source = 'end_user'`)} RETURNING 1`,
    );
    const renamed = await tx.query(
      sql`UPDATE scores SET author = NULL WHERE ${some(sql`source <> 'end_user'`)} RETURNING 1`,
    );
    const isDone = deleted.length < SCORES && renamed.length < SCORES;
    return { counts: { scores: deleted.length }, next: isDone ? null : 'scores' };
  }
}

/** Selects the `id` of the records that were made from traces or sessions. */
const recordsOf = ({ workspaceId }: ErasureRun, kind: ErasureItemKind, ids: readonly string[]): Sql =>
  sql`SELECT r.dataset_record_id AS id FROM datasets d JOIN records r ON r.dataset_id = d.dataset_id
    WHERE d.workspace_id = ${workspaceId} AND r.workspace_id = d.workspace_id AND r.source_kind = ${kind}
      AND r.source_ref = ANY (${ids}::text[])`;
