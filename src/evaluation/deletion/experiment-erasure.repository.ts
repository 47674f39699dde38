import { Injectable } from '@nestjs/common';
import { sql, type Sql, type Tx } from '#platform/db';
import type { ErasureBatch, ErasureRun } from '../../resources';

const ROWS = 1_000;
/** Runs with up to 100 targets each. */
const RUNS = 10;

/** Deletes experiments. They are archived, so no result is added to them. */
@Injectable()
export class ExperimentErasureRepository {
  /** Deletes the next results of an experiment, in the order of their ids. */
  async deleteResults(tx: Tx, { workspaceId, id }: ErasureRun, cursor: string | null): Promise<ErasureBatch> {
    const deleted = await tx.query<{ result_id: string }>(
      sql`DELETE FROM results WHERE experiment_id = ${id} AND workspace_id = ${workspaceId} AND result_id = ANY (ARRAY(
          SELECT result_id FROM results
          WHERE experiment_id = ${id} AND workspace_id = ${workspaceId} AND result_id > ${cursor ?? ''}
          ORDER BY result_id LIMIT ${ROWS}))
        RETURNING result_id`,
    );
    const ids = deleted.map((row) => row.result_id).sort();
    return { counts: { results: ids.length }, next: ids.length < ROWS ? null : ids.at(-1)! };
  }

  /** Deletes the results of a workspace, experiment by experiment: no index of results begins with the workspace. */
  async deleteResultsOfWorkspace(
    tx: Tx,
    { workspaceId, isDryRun }: ErasureRun,
    cursor: string | null,
  ): Promise<ErasureBatch> {
    const results = (limit: Sql): Sql =>
      sql`SELECT r.* FROM (SELECT experiment_id FROM experiments
            WHERE workspace_id = ${workspaceId} AND experiment_id >= ${cursor ?? ''} ORDER BY experiment_id) e
          CROSS JOIN LATERAL (
            SELECT experiment_id, result_id FROM results
            WHERE experiment_id = e.experiment_id AND workspace_id = ${workspaceId} ${limit}) r`;
    if (isDryRun) {
      const [row] = await tx.query<{ count: number }>(
        sql`SELECT count(*) AS count FROM (${results(sql``)}) selected`,
      );
      return { counts: { results: row!.count }, next: null };
    }
    const deleted = await tx.query<{ experiment_id: string }>(
      sql`DELETE FROM results USING (${results(sql`LIMIT ${ROWS}`)} LIMIT ${ROWS}) selected
        WHERE results.experiment_id = selected.experiment_id AND results.result_id = selected.result_id
          AND results.workspace_id = ${workspaceId}
        RETURNING results.experiment_id`,
    );
    const last = deleted
      .map((row) => row.experiment_id)
      .sort()
      .at(-1);
    return { counts: { results: deleted.length }, next: deleted.length < ROWS ? null : last! };
  }

  /** Deletes the next scores of an experiment's results, in the order of their ids. */
  async deleteScores(tx: Tx, { workspaceId, id }: ErasureRun, cursor: string | null): Promise<ErasureBatch> {
    const deleted = await tx.query<{ score_id: string }>(
      sql`DELETE FROM scores WHERE workspace_id = ${workspaceId} AND score_id = ANY (ARRAY(
          SELECT score_id FROM scores
          WHERE workspace_id = ${workspaceId} AND experiment_id = ${id} AND score_id > ${cursor ?? ''}
          ORDER BY score_id LIMIT ${ROWS}))
        RETURNING score_id`,
    );
    const ids = deleted.map((row) => row.score_id).sort();
    return { counts: { scores: ids.length }, next: ids.length < ROWS ? null : ids.at(-1)! };
  }

  /** Deletes runs over an experiment with their targets, outcomes and cached answers, and then batches without runs. */
  async deleteRuns(tx: Tx, { workspaceId, id }: ErasureRun): Promise<ErasureBatch> {
    const isOfExperiment = sql`experiment_id = ${id} AND workspace_id = ${workspaceId}`;
    const runs = await tx.query<{ score_run_id: string }>(
      sql`SELECT score_run_id FROM score_runs WHERE ${isOfExperiment} ORDER BY score_run_id LIMIT ${RUNS} FOR UPDATE`,
    );
    const ids = runs.map((row) => row.score_run_id);
    if (ids.length > 0) {
      await tx.query(
        sql`DELETE FROM judge_answers WHERE workspace_id = ${workspaceId} AND target_key = ANY (ARRAY(
            SELECT score_run_id || ':' || ordinal FROM score_targets WHERE score_run_id = ANY (${ids}::text[])))`,
      );
      await tx.query(
        sql`DELETE FROM score_runs WHERE score_run_id = ANY (${ids}::text[]) AND workspace_id = ${workspaceId}`,
      );
      return { counts: { score_runs: ids.length }, next: 'runs' };
    }
    const batches = await tx.query(
      sql`DELETE FROM score_batches WHERE score_batch_id = ANY (ARRAY(
          SELECT score_batch_id FROM score_batches WHERE ${isOfExperiment} LIMIT ${RUNS})) RETURNING 1`,
    );
    return { counts: { score_batches: batches.length }, next: batches.length === 0 ? null : 'batches' };
  }

  /** Marks the experiments whose baseline an experiment is, ends its promotion, and deletes its row. */
  async deleteExperiment(tx: Tx, run: ErasureRun): Promise<ErasureBatch> {
    const { workspaceId, id } = run;
    if ((await this.markCandidates(tx, run, ROWS)) === ROWS) return { counts: {}, next: 'candidates' };
    await tx.query(
      sql`UPDATE datasets d SET baselines = d.baselines - e.name, revision = d.revision + 1
        FROM experiments e WHERE e.experiment_id = ${id} AND e.workspace_id = ${workspaceId}
          AND d.dataset_id = e.dataset_id AND d.workspace_id = e.workspace_id
          AND d.baselines ->> e.name = e.experiment_id`,
    );
    await tx.query(
      sql`DELETE FROM experiment_scores WHERE workspace_id = ${workspaceId} AND experiment_id = ${id}`,
    );
    const deleted = await tx.query(
      sql`DELETE FROM experiments WHERE experiment_id = ${id} AND workspace_id = ${workspaceId} RETURNING 1`,
    );
    // those that were created while the DELETE waited for them
    await this.markCandidates(tx, run, null);
    return { counts: { experiments: deleted.length }, next: null };
  }

  private async markCandidates(
    tx: Tx,
    { workspaceId, id }: ErasureRun,
    limit: number | null,
  ): Promise<number> {
    const marked = await tx.query(
      sql`UPDATE experiments SET baseline_erased = true, generation = generation + 1
        WHERE experiment_id = ANY (ARRAY(
          SELECT experiment_id FROM experiments
          WHERE workspace_id = ${workspaceId} AND baseline_experiment_id = ${id} AND NOT baseline_erased LIMIT ${limit}))
        RETURNING 1`,
    );
    return marked.length;
  }
}
