import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { Database, empty, followIndexes, prepared, raw, sql, type Sql, type Tx } from '#platform/db';
import { type ExperimentScores, hasPeople, machineScores, peopleOfExperiment } from '../../scores';
import type { ExperimentStatus } from '../experiments/experiment.entity';
import type { OtherVersions, ScoredVersion } from './scorer-versions';

/** Scores read per batch. */
const SCORES_AT_ONCE = 20_000;
/** Maximum number of scorer versions read per experiment, those with the most scores first. */
const VERSIONS_MAX = 10_000;

/** The members of an experiment that a comparison needs. */
export interface ComparedExperiment {
  experiment_id: string;
  name: string;
  experiment_name: string;
  experiment_status: ExperimentStatus;
  baseline_experiment_id: string | null;
  /** The promoted baseline of its dataset for experiments of this name. */
  promoted_baseline_id: string | null;
  dataset_id: string | null;
  dataset_version: number | null;
  expected_case_count: number | null;
  /** How often each case is run. */
  trials: number;
  /** Whether people's scores may count for its results. */
  has_people: boolean;
  /** Changed by every change of the experiment, and by every erasure of one of its results. */
  generation: number;
  /** Changes with every score that is given after the experiment was finalized, and at least once more. Null while it is running. */
  late_digest: string | null;
}

/** The scorer version whose scores are read. */
export interface ChosenScorer {
  scorer: string;
  version: number;
}

/** A chosen version, whose scores are read for all results. */
export interface ReadScorer extends ChosenScorer {
  /** Whether no result has several scores under the name, so that none has to be chosen. */
  isOnly: boolean;
}

/** The current scores of one scorer. */
export interface ScorerColumn extends OtherVersions {
  scorer: string;
  resultIds: string[];
  /** The score of each result; null if the scorer gave none. */
  scores: (number | null)[];
  /** Number of scores that came after the experiment was finalized. */
  lateCount: number;
  /** The judge of each score, by the start of its digest; null for no judge. Null if no judge gave scores. */
  judges: (string | null)[] | null;
  /** The models of these judges, by the start of their digest. */
  models: Record<string, string>;
}

interface ColumnRow {
  scorer: string;
  /** Null for none, like the members that follow from it. */
  ids: string | null;
  scores: string | null;
  late: number;
  judges: string | null;
  models: Record<string, string> | null;
  other_count: number;
  /** The version of each other score; null for none. */
  other_versions: number[] | null;
}

/** The order of scores of one result by one version, the one that counts first. */
export const COUNTS_FIRST = raw(`is_current DESC, source = 'human', score_id DESC`);

/** The start of a digest. It is long enough to tell the judges of two experiments apart. */
const JUDGE = raw('left(judge_digest, 12)');

/**
 * Selects the score of each result by the chosen versions, else by the newest other version.
 *
 * @param people adds people's scores of the experiment
 */
const chosenScores = (
  workspaceId: string,
  experiment: ExperimentScores,
  scorers: readonly ReadScorer[],
  people: Sql,
): Sql => {
  const isOnly = scorers.every((one) => one.isOnly);
  const order = sql`ORDER BY result_id, scorer_version = selection.version DESC, scorer_version DESC, ${COUNTS_FIRST}`;
  return sql`${selectionOf(scorers)} CROSS JOIN LATERAL (
      SELECT ${raw(isOnly ? '' : 'DISTINCT ON (result_id)')} result_id, scorer_version, score, is_late, model, ${JUDGE} AS judge FROM (
        ${machineScores(workspaceId, experiment, raw('AND scores.scorer_name = selection.scorer'))}
        ${people}) candidate
      ${isOnly ? empty : order} OFFSET 0) chosen`;
};

/** A table of the chosen versions. */
export const selectionOf = (scorers: readonly ChosenScorer[]): Sql =>
  sql`unnest(${scorers.map(({ scorer }) => scorer)}::text[], ${scorers.map(({ version }) => version)}::integer[]) AS selection(scorer, version)`;

/** Reads experiments and their current scores for comparisons. */
@Injectable()
export class ComparisonRepository {
  constructor(private readonly database: Database) {}

  /**
   * Runs `read` on one snapshot of the database, so that scores and counts are consistent. Batches are read in index order.
   * Otherwise, each batch would read and sort all results of an experiment that is not in PostgreSQL's statistics yet.
   */
  inSnapshot<Result>(read: (tx: Tx) => Promise<Result>): Promise<Result> {
    return this.database.transaction(async (tx) => {
      await tx.query('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY');
      await followIndexes(tx);
      return read(tx);
    });
  }

  /**
   * Returns those of one or two experiments that exist, by id. Two values, because PostgreSQL would expect an array to be
   * longer, and plan the statement each time.
   */
  async find(
    { workspaceId }: Scope,
    ids: readonly string[],
  ): Promise<ReadonlyMap<string, ComparedExperiment>> {
    const rows = await this.database.query<ComparedExperiment>(
      prepared(
        'comparison.find',
        sql`
          SELECT experiment_id, e.name, experiment_name, experiment_status, e.generation, baseline_experiment_id, e.dataset_id,
                 dataset_version, expected_case_count, trials, d.baselines ->> e.name AS promoted_baseline_id,
                 ${hasPeople(workspaceId, { ofResults: false })} OR EXISTS (
                   SELECT FROM scores s WHERE s.workspace_id = e.workspace_id AND s.experiment_id = e.experiment_id
                     AND s.source = 'human' AND s.superseded_at IS NULL) AS has_people,
                 CASE WHEN experiment_status <> 'running' THEN (
                   SELECT concat_ws(' ', count(*), sum(hashtextextended(score_id || coalesce(superseded_by_score_id, ''), 0)::numeric))
                   FROM scores s WHERE s.workspace_id = e.workspace_id AND s.experiment_id = e.experiment_id AND s.is_late
                 ) || ' ' || coalesce((
                   -- Results may name the traces and sessions that people scored. The clocks of processes differ, so the
                   -- newest score may not be the last one for a moment.
                   SELECT CASE WHEN created_at > now() - interval '1 minute' THEN now()::text ELSE score_id END
                   FROM scores s WHERE s.workspace_id = e.workspace_id AND s.source = 'human'
                     AND s.superseded_at IS NULL AND s.result_id IS NULL
                   ORDER BY score_id DESC LIMIT 1), '') END AS late_digest
          FROM (VALUES (${ids[0]}), (${ids.at(-1)})) AS ids(id)
          CROSS JOIN LATERAL (SELECT * FROM experiments WHERE experiment_id = ids.id AND workspace_id = ${workspaceId} OFFSET 0) e
          LEFT JOIN datasets d ON d.dataset_id = e.dataset_id AND d.workspace_id = e.workspace_id`,
      ),
    );
    return new Map(rows.map((row) => [row.experiment_id, row]));
  }

  /**
   * Returns the versions of scorers that have scored an experiment, with the number of scores, most first.
   *
   * @param scorers names of the scorers to return; null for all
   */
  scoredVersions(
    tx: Tx,
    { workspaceId }: Scope,
    { experiment_id: experimentId, has_people }: ComparedExperiment,
    scorers: readonly string[] | null,
  ): Promise<ScoredVersion[]> {
    const people = sql`UNION ALL ${peopleOfExperiment(workspaceId, { experimentId })}`;
    const statement = sql`SELECT scorer_name AS scorer, scorer_version AS version, count(*) AS count,
            bool_or(is_current) AS is_current,
            bool_and(bool_and(is_current)) OVER (PARTITION BY scorer_name) AS is_only, min(scorer_id) AS first_scorer_id, max(scorer_id) AS last_scorer_id
          FROM (${machineScores(workspaceId, { experimentId })} ${has_people ? people : empty}) score
          WHERE ${scorers}::text[] IS NULL OR scorer_name = ANY (${scorers}::text[])
          GROUP BY scorer_name, scorer_version ORDER BY count DESC, scorer_name, version LIMIT ${raw(String(VERSIONS_MAX))}`;
    return tx.query<ScoredVersion>(has_people ? statement : prepared('comparison.versions', statement));
  }

  /**
   * Reads the scores of an experiment by the chosen versions, in batches of scorers.
   *
   * @param results number of results that were read
   * @param last id of the last of them
   * @param allowMismatch whether a result without a score by the chosen version gets the one by the newest other version
   */
  async readScores(
    tx: Tx,
    { workspaceId }: Scope,
    { experiment_id: experimentId, has_people }: ComparedExperiment,
    scorers: readonly ReadScorer[],
    { results, last, allowMismatch }: { results: number; last: string; allowMismatch: boolean },
    take: (batch: ScorerColumn[]) => void,
  ): Promise<void> {
    const perBatch = Math.max(1, Math.floor(SCORES_AT_ONCE / Math.max(1, results)));
    const experiment = { experimentId, upTo: sql`${last}` };
    const readOnce = sql`WITH people AS MATERIALIZED (${peopleOfExperiment(workspaceId, experiment)})`;
    const people = raw('UNION ALL SELECT * FROM people WHERE people.scorer_name = selection.scorer');
    const isChosen = sql`(${allowMismatch}::boolean OR scorer_version = selection.version)`;
    for (let at = 0; at < scorers.length; at += perBatch) {
      const some = scorers.slice(at, at + perBatch);
      // no join with the results, which would take quadratic time for a workspace that is not in the statistics yet
      const rows = await tx.query<ColumnRow>(
        sql`${has_people ? readOnce : empty}
          SELECT scorer, json_agg(result_id) FILTER (WHERE is_chosen)::text AS ids,
                 json_agg(score) FILTER (WHERE is_chosen)::text AS scores,
                 count(*) FILTER (WHERE is_chosen AND is_late) AS late,
                 CASE WHEN count(judge) > 0 THEN json_agg(judge) FILTER (WHERE is_chosen)::text END AS judges,
                 jsonb_object_agg(judge, coalesce(model, 'an unknown model'))
                   FILTER (WHERE is_chosen AND judge IS NOT NULL) AS models,
                 count(*) FILTER (WHERE NOT is_chosen) AS other_count,
                 array_agg(scorer_version) FILTER (WHERE NOT is_chosen) AS other_versions
          FROM (SELECT *, ${isChosen} AS is_chosen FROM ${chosenScores(workspaceId, experiment, some, has_people ? people : empty)}) score
          GROUP BY scorer`,
      );
      take(rows.map(toColumn));
    }
  }
}

const toColumn = (row: ColumnRow): ScorerColumn => ({
  scorer: row.scorer,
  resultIds: JSON.parse(row.ids ?? '[]') as string[],
  scores: JSON.parse(row.scores ?? '[]') as (number | null)[],
  lateCount: row.late,
  judges: row.judges === null ? null : (JSON.parse(row.judges) as (string | null)[]),
  models: row.models ?? {},
  otherCount: row.other_count,
  otherVersions: [...new Set(row.other_versions)].toSorted((a, b) => a - b),
});
