import { Injectable } from '@nestjs/common';
import { sql, type Sql, type Tx } from '#platform/db';
import {
  type ErasedCounts,
  type ErasureBatch,
  type ErasureItemKind,
  ErasureItems,
  type ErasureRun,
} from '../../resources';
import { RecordRepository } from '../datasets';
import { andOfErasedTrace, columnOf, passItems } from './erasure-passes.sql';

const SCORES = 1_000;
const NOTHING: ErasedCounts = {};
/** The traces and sessions whose data is erased. */
const SOURCES = ['trace', 'session'] as const;

/** Erases the content of results, the scores and the records that were made from erased traces and sessions. */
@Injectable()
export class ContentErasureRepository {
  constructor(
    private readonly items: ErasureItems,
    private readonly records: RecordRepository,
  ) {}

  /**
   * Adds to the items the records that were made from a trace or a session, and the results that name a trace, a session or one
   * of these records.
   */
  collect(tx: Tx, erasure: ErasureRun, cursor: string | null): Promise<ErasureBatch> {
    const { workspaceId, isDryRun } = erasure;
    return passItems(this.items, tx, erasure, [...SOURCES, 'record'], cursor, async (kind, ids) => {
      if (kind === 'record') {
        const results = await this.items.add(tx, erasure, 'result', resultsOfRecords(erasure, ids));
        return isDryRun ? { results } : NOTHING;
      }
      const results = await this.items.add(
        tx,
        erasure,
        'result',
        sql`SELECT result_id AS id FROM results
          WHERE workspace_id = ${workspaceId} AND ${columnOf(kind)} = ANY (${ids}::text[])${andOfErasedTrace(erasure, kind, 'results')}`,
      );
      const records = await this.items.add(tx, erasure, 'record', recordsOf(erasure, kind, ids));
      return isDryRun ? { results, records } : NOTHING;
    });
  }

  /**
   * Erases the content of the collected results that still name an erased trace, session or record. Their cases, numbers and
   * scores stay. Locks experiments before results, like all writers.
   */
  eraseResults(tx: Tx, erasure: ErasureRun, cursor: string | null): Promise<ErasureBatch> {
    const { workspaceId, erasureId, isDryRun } = erasure;
    if (isDryRun) return Promise.resolve({ counts: {}, next: null });
    return passItems(this.items, tx, erasure, ['result'], cursor, async (_, ids) => {
      const isSource = (kind: ErasureItemKind): Sql =>
        sql`EXISTS (SELECT FROM erasure_items i WHERE i.erasure_id = ${erasureId} AND i.workspace_id = ${workspaceId}
          AND i.item_kind = ${kind} AND i.item_id = results.${columnOf(kind)})${andOfErasedTrace(erasure, kind, 'results')}`;
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
              AND ((${isSource('trace')}) OR (${isSource('session')}) OR (${isSource('record')}))
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

  /**
   * Deletes the records that were made from erased traces and sessions, also those that were stored in the meantime. Adds the
   * results over them that were stored in the meantime to the items.
   */
  eraseRecords(tx: Tx, erasure: ErasureRun, cursor: string | null): Promise<ErasureBatch> {
    const { workspaceId, isDryRun } = erasure;
    if (isDryRun) return Promise.resolve({ counts: {}, next: null });
    return passItems(this.items, tx, erasure, SOURCES, cursor, async (kind, ids) => {
      const rows = await tx.query<{ id: string }>(recordsOf(erasure, kind, ids));
      if (rows.length === 0) return NOTHING;
      const recordIds = rows.map(({ id }) => id);
      await this.items.addIds(tx, erasure, 'record', recordIds);
      await this.items.add(tx, erasure, 'result', resultsOfRecords(erasure, recordIds));
      return { records: await this.records.deleteMany(tx, workspaceId, recordIds) };
    });
  }

  /** Deletes the scores of erased traces and sessions. Scores of erased results keep their numbers and labels. */
  eraseScores(tx: Tx, erasure: ErasureRun, cursor: string | null): Promise<ErasureBatch> {
    const { workspaceId, subject, isDryRun } = erasure;
    return passItems(this.items, tx, erasure, [...SOURCES, 'result'], cursor, async (kind, ids) => {
      const isOfSource = sql`workspace_id = ${workspaceId} AND ${columnOf(kind)} = ANY (${ids}::text[])`;
      if (kind === 'result') {
        if (!isDryRun) await this.blankScores(tx, sql`${isOfSource} AND ${isOfErasedResult}`);
        return NOTHING;
      }
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
      if (subject !== 'traces')
        await this.blankScores(
          tx,
          sql`${isOfSource} AND target_kind = 'result'${andOfErasedTrace(erasure, kind, 'scores')}`,
        );
      return { scores: deleted.length };
    });
  }

  private async blankScores(tx: Tx, condition: Sql): Promise<void> {
    await tx.query(
      sql`UPDATE scores SET comment = NULL, answers = NULL, metadata = '{}', trace_id = NULL, session_id = NULL
        WHERE ${condition}`,
    );
  }

  /** Deletes the scores that an end user gave, and removes the name from the scores of others. */
  async eraseAuthor(tx: Tx, { erasureId, workspaceId, id, isDryRun }: ErasureRun): Promise<ErasureBatch> {
    const isByAuthor = sql`workspace_id = ${workspaceId} AND author = ${id}`;
    if (isDryRun) {
      const [row] = await tx.query<{ count: number }>(
        sql`SELECT count(*) AS count FROM scores s WHERE ${isByAuthor} AND source = 'end_user'
          AND NOT EXISTS ( -- the scores of traces and sessions are counted with these
            SELECT FROM erasure_items i WHERE i.erasure_id = ${erasureId}
            AND i.workspace_id = s.workspace_id AND i.item_kind = s.target_kind AND i.item_id = s.target_id
              AND s.target_kind <> 'result')`,
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

/** Whether a score is of a result whose content is erased. A result that was replaced in the meantime has new content. */
const isOfErasedResult = sql`EXISTS (SELECT FROM results r
  WHERE r.experiment_id = scores.experiment_id AND r.result_id = scores.result_id AND r.workspace_id = scores.workspace_id
    AND r.erased)`;

/** Selects the `id` of the records with a version that was made from traces or sessions. */
const recordsOf = ({ workspaceId }: ErasureRun, kind: ErasureItemKind, ids: readonly string[]): Sql =>
  sql`SELECT DISTINCT v.dataset_record_id AS id FROM datasets d JOIN record_versions v ON v.dataset_id = d.dataset_id
    WHERE d.workspace_id = ${workspaceId} AND v.workspace_id = d.workspace_id
      AND v.source_kind IN ('trace', 'session') AND v.source_kind = ${kind} AND v.source_ref = ANY (${ids}::text[])`;

/** Selects the `id` of the results that name records. */
const resultsOfRecords = ({ workspaceId }: ErasureRun, ids: readonly string[]): Sql =>
  sql`SELECT r.result_id AS id FROM records
    JOIN experiments e ON e.dataset_id = records.dataset_id AND e.workspace_id = records.workspace_id
    JOIN results r ON r.experiment_id = e.experiment_id AND r.dataset_record_id = records.dataset_record_id
      AND r.workspace_id = e.workspace_id
    WHERE records.dataset_record_id = ANY (${ids}::text[]) AND records.workspace_id = ${workspaceId}`;
