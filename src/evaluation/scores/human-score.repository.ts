import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { Database, join, prepared, raw, sql, type SqlExecutor, type Tx, Where } from '#platform/db';
import { BY_CHANGE, type ListQueryDto, listPage, type RowPage } from '#platform/paging';
import type { HumanScoreRow } from './human-score.entity';

const COLUMNS = `s.score_id, s.workspace_id, s.scorer_id, s.scorer_version, s.target_kind, s.trace_id, s.session_id,
  s.experiment_id, s.result_id, s.result_version, s.score, s.choice, s.value, s.answers, s.output_sha256, s.comment, s.metadata,
  s.supersedes_score_id, s.superseded_by_score_id, s.created_at, s.updated_at, s.created_by`;

/** A score to store, without its relations to other scores. */
export type NewHumanScore = Omit<
  HumanScoreRow,
  'supersedes_score_id' | 'superseded_by_score_id' | 'updated_at'
>;

/** Filters of the list of scores. */
export interface HumanScoreFilters extends ListQueryDto {
  scorer_id?: string;
  trace_id?: string;
  session_id?: string;
  result_id?: string;
  experiment_id?: string;
  created_by?: string;
  include_superseded?: boolean;
}

/** Human scores. A person's current score of a target is the one that no other supersedes. */
@Injectable()
export class HumanScoreRepository {
  constructor(private readonly database: Database) {}

  /**
   * Stores a score, which supersedes the same person's earlier score of the same target by the same scorer. Concurrent
   * scores of the same person wait for the transaction, so that each supersedes the one before.
   *
   * @returns the row as it is stored
   */
  async insert(tx: Tx, row: NewHumanScore): Promise<HumanScoreRow> {
    const target = row.result_id ?? row.trace_id ?? row.session_id;
    const key = [row.workspace_id, row.scorer_id, row.target_kind, target, row.created_by];
    const lock = JSON.stringify(['human', ...key]);
    await tx.query(sql`SELECT pg_advisory_xact_lock(hashtextextended(${lock}, 0))`);
    const [earlier] = await tx.query<{ score_id: string }>(
      prepared(
        'human-score.supersede',
        sql`UPDATE human_scores SET superseded_by_score_id = ${row.score_id}, updated_at = ${row.created_at}
          WHERE (workspace_id, scorer_id, target_kind, target_id, created_by) = (${join(key)})
            AND superseded_by_score_id IS NULL RETURNING score_id`,
      ),
    );
    const supersedes = earlier?.score_id ?? null;
    const values = [
      row.score_id,
      row.workspace_id,
      row.scorer_id,
      row.scorer_version,
      row.target_kind,
      row.trace_id,
      row.session_id,
      row.experiment_id,
      row.result_id,
      row.result_version,
      row.score,
      row.choice,
      row.value,
      row.answers,
      row.output_sha256,
      row.comment,
      row.metadata,
      supersedes,
      row.created_at,
      row.created_at,
      row.created_by,
    ];
    await tx.query(
      prepared(
        'human-score.insert',
        sql`INSERT INTO human_scores (score_id, workspace_id, scorer_id, scorer_version, target_kind, trace_id, session_id,
                                      experiment_id, result_id, result_version, score, choice, value, answers,
                                      output_sha256, comment, metadata, supersedes_score_id, created_at, updated_at,
                                      created_by)
          VALUES (${join(values)})`,
      ),
    );
    return {
      ...row,
      supersedes_score_id: supersedes,
      superseded_by_score_id: null,
      updated_at: row.created_at,
    };
  }

  /** Links a score to experiments, for the list's filter by `experiment_id`. */
  async linkExperiments(
    tx: Tx,
    scope: Scope,
    scoreId: string,
    experimentIds: readonly string[],
  ): Promise<void> {
    await tx.query(
      sql`INSERT INTO human_score_experiments (experiment_id, score_id, workspace_id)
        SELECT experiment_id, ${scoreId}, ${scope.workspaceId} FROM unnest(${experimentIds}::text[]) AS given(experiment_id)`,
    );
  }

  async find(scope: Scope, id: string, on: SqlExecutor = this.database): Promise<HumanScoreRow | null> {
    const [row] = await on.query<HumanScoreRow>(
      prepared(
        'human-score.find',
        sql`SELECT ${raw(COLUMNS)} FROM human_scores s
          WHERE s.score_id = ${id} AND s.workspace_id = ${scope.workspaceId}`,
      ),
    );
    return row ?? null;
  }

  list(scope: Scope, query: HumanScoreFilters): Promise<RowPage<HumanScoreRow>> {
    const where = new Where(scope.key, query.experiment_id === undefined ? 's' : 'e')
      .addIf(query.scorer_id, (id) => sql`s.scorer_id = ${id}`)
      .addIf(query.trace_id, (id) => sql`s.trace_id = ${id}`)
      .addIf(query.session_id, (id) => sql`s.session_id = ${id}`)
      .addIf(query.result_id, (id) => sql`s.result_id = ${id}`)
      .addIf(query.created_by, (id) => sql`s.created_by = ${id}`)
      .addIf(query.experiment_id, (id) => sql`e.experiment_id = ${id}`);
    if (query.include_superseded !== true) where.add(sql`s.superseded_by_score_id IS NULL`);
    // Reads the experiment's scores by their key, which has the list's order, and looks each up (OFFSET 0). A join would
    // take quadratic time in a workspace that the statistics do not know.
    const source =
      query.experiment_id === undefined
        ? { from: 'human_scores s', id: 's.score_id' }
        : {
            from: `human_score_experiments e CROSS JOIN LATERAL (
              SELECT * FROM human_scores WHERE workspace_id = e.workspace_id AND score_id = e.score_id OFFSET 0) s`,
            id: 'e.score_id',
          };
    return listPage<HumanScoreRow>(
      this.database,
      { columns: COLUMNS, ...source, where, sorts: BY_CHANGE, bytes: 's.bytes' },
      query,
    );
  }
}
