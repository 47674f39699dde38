import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { Database, type SqlExecutor, type Tx, Where } from '#platform/db';
import { BY_CHANGE, type ListQueryDto, listPage, type RowPage } from '#platform/paging';
import type { HumanScoreRow } from './human-score.entity';

const COLUMNS = `s.score_id, s.workspace_id, s.scorer_id, s.scorer_version, s.target_kind, s.trace_id, s.session_id,
  s.experiment_id, s.result_id, s.score, s.choice, s.value, s.answers, s.output_sha256, s.comment, s.metadata,
  s.supersedes_score_id, s.superseded_by_score_id, s.created_at, s.updated_at, s.created_by`;

const FIND = {
  name: 'human-score.find',
  text: `SELECT ${COLUMNS} FROM human_scores s WHERE s.score_id = $1 AND s.workspace_id = $2`,
};

const SUPERSEDE = {
  name: 'human-score.supersede',
  text: `UPDATE human_scores SET superseded_by_score_id = $6, updated_at = $7
    WHERE workspace_id = $1 AND scorer_id = $2 AND target_kind = $3 AND target_id = $4 AND created_by = $5
      AND superseded_by_score_id IS NULL RETURNING score_id`,
};

const INSERT = {
  name: 'human-score.insert',
  text: `INSERT INTO human_scores (score_id, workspace_id, scorer_id, scorer_version, target_kind, trace_id, session_id,
                                   experiment_id, result_id, score, choice, value, answers, output_sha256,
                                   comment, metadata, supersedes_score_id, created_at, updated_at, created_by)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $18, $19)`,
};

/** A score that is to be kept: all but how it stands to others. */
export type NewHumanScore = Omit<
  HumanScoreRow,
  'supersedes_score_id' | 'superseded_by_score_id' | 'updated_at'
>;

/** What a list of scores is narrowed to. */
export interface HumanScoreFilters extends ListQueryDto {
  scorer_id?: string;
  trace_id?: string;
  session_id?: string;
  result_id?: string;
  experiment_id?: string;
  created_by?: string;
  include_superseded?: boolean;
}

/** What people scored. The present score of each person is that which nothing supersedes. */
@Injectable()
export class HumanScoreRepository {
  constructor(private readonly database: Database) {}

  /**
   * Keeps a score, in place of the same person's earlier one of the same target by the same scorer, which stays and
   * says so. Others of theirs that come at the same time wait for the transaction, so that each supersedes the one
   * before. @returns the row as it is kept.
   */
  async insert(tx: Tx, row: NewHumanScore): Promise<HumanScoreRow> {
    const key = [
      row.workspace_id,
      row.scorer_id,
      row.target_kind,
      row.result_id ?? row.trace_id ?? row.session_id,
      row.created_by,
    ];
    await tx.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [
      JSON.stringify(['human', ...key]),
    ]);
    const [earlier] = await tx.query<{ score_id: string }>(SUPERSEDE, [...key, row.score_id, row.created_at]);
    const supersedes = earlier?.score_id ?? null;
    await tx.query(INSERT, [
      row.score_id,
      row.workspace_id,
      row.scorer_id,
      row.scorer_version,
      row.target_kind,
      row.trace_id,
      row.session_id,
      row.experiment_id,
      row.result_id,
      row.score,
      row.choice,
      row.value?.text ?? null,
      row.answers?.text ?? null,
      row.output_sha256,
      row.comment,
      row.metadata.text,
      supersedes,
      row.created_at,
      row.created_by,
    ]);
    return {
      ...row,
      supersedes_score_id: supersedes,
      superseded_by_score_id: null,
      updated_at: row.created_at,
    };
  }

  /** Notes which experiments a score is about: what the list's `experiment_id` finds it by. */
  async noteExperiments(
    tx: Tx,
    scope: Scope,
    scoreId: string,
    experimentIds: readonly string[],
  ): Promise<void> {
    await tx.query(
      `INSERT INTO human_score_experiments (experiment_id, score_id, workspace_id)
       SELECT experiment_id, $2, $3 FROM unnest($1::text[]) AS given(experiment_id)`,
      [experimentIds, scoreId, scope.workspaceId],
    );
  }

  async find(scope: Scope, id: string, on: SqlExecutor = this.database): Promise<HumanScoreRow | null> {
    const [row] = await on.query<HumanScoreRow>(FIND, [id, scope.workspaceId]);
    return row ?? null;
  }

  list(scope: Scope, query: HumanScoreFilters): Promise<RowPage<HumanScoreRow>> {
    const where = new Where(scope.key, query.experiment_id === undefined ? 's' : 'e')
      .addIf(query.scorer_id, 's.scorer_id = ?')
      .addIf(query.trace_id, 's.trace_id = ?')
      .addIf(query.session_id, 's.session_id = ?')
      .addIf(query.result_id, 's.result_id = ?')
      .addIf(query.created_by, 's.created_by = ?')
      .addIf(query.experiment_id, 'e.experiment_id = ?');
    if (query.include_superseded !== true) where.add('s.superseded_by_score_id IS NULL');
    // By the key of the experiment's scores, which has them in the list's own order, each looked up (OFFSET 0): a join
    // would take the square of them in a workspace that the statistics do not know.
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
