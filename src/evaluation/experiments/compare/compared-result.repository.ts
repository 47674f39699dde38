import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { Database, empty, firstRow, prepared, raw, sql, type Sql, type Tx } from '#platform/db';
import type { RawJson } from '#platform/json';
import { bytesOfScores, peopleOfResults } from '../../scores';
import { SUMMARY_RESULTS_MAX } from '../experiments/summary.repository';
import {
  type ChosenScorer,
  type ComparedExperiment,
  COUNTS_FIRST,
  selectionOf,
} from './comparison.repository';

/** Results read per batch. Their ids and keys parse within a few milliseconds. */
const RESULTS_AT_ONCE = 2_500;
/** A batch of results as columns. */
export interface ResultBatch {
  resultIds: string[];
  /** The key that pairs each result: `dataset_record_id`, else `trial_group`, else `case_id`. */
  caseKeys: string[];
  /** Whether each result's case is one that the experiment expects. */
  areExpected: boolean[];
  /** Approximate size of each result as JSON, in bytes. */
  bytes: number[];
  hasErrors: boolean[];
  /** Whether the content of each result was erased. */
  areErased: boolean[];
  /** Null for all if no result has one, like the columns below. */
  durations: (number | null)[] | null;
  traceIds: (string | null)[] | null;
  /** A hash of the text of each input; null for none. */
  inputHashes: (number | null)[] | null;
  expectedHashes: (number | null)[] | null;
}

interface BatchRow extends Record<'ids' | 'keys' | 'expected' | 'bytes' | 'errors' | 'erased', string> {
  last: string | null;
  durations: string | null;
  traces: string | null;
  input_hashes: string | null;
  expected_hashes: string | null;
}

/** The ids of two results of one case. */
export interface ContentPair {
  candidate: string;
  baseline: string;
}

/** A value of a case that makes it another case when it changes. */
export type CaseMember = 'input' | 'expected';

/** The members of a result that a comparison returns. */
export interface ComparedRow {
  result_id: string;
  case_id: string;
  dataset_record_id: string | null;
  trial_group: string | null;
  output: RawJson | null;
  error: RawJson | null;
  erased: boolean;
  scores: RawJson;
  score_details: RawJson;
  trace_id: string | null;
  session_id: string | null;
  duration_ms: number | null;
  trial_index: number | null;
  /** Null unless requested. */
  input: RawJson | null;
  expected: RawJson | null;
}

/** Reads the results of experiments for comparisons. */
@Injectable()
export class ComparedResultRepository {
  constructor(private readonly database: Database) {}

  /**
   * Reads the results that a summary covers, in order of arrival and in batches.
   *
   * @returns whether the experiment has more results
   */
  async readResults(
    tx: Tx,
    scope: Scope,
    experimentId: string,
    take: (batch: ResultBatch) => void,
  ): Promise<boolean> {
    let after = '';
    for (let left = SUMMARY_RESULTS_MAX; left > 0; left -= RESULTS_AT_ONCE) {
      const batch = await this.readBatch(tx, scope, experimentId, after);
      if (batch.last === null) return false;
      take(toBatch(batch));
      after = batch.last;
    }
    return this.hasMore(tx, scope, experimentId, after);
  }

  /**
   * Returns which of these pairs are equal as JSON, by their indexes: another order of members, or another spelling of a
   * number, is no difference. Numbers with hundreds of digits are compared as text.
   */
  async equalPairs(
    tx: Tx,
    { workspaceId }: Scope,
    [candidateId, baselineId]: readonly [string, string],
    member: CaseMember,
    pairs: readonly ContentPair[],
  ): Promise<number[]> {
    const valueOf = (experimentId: string, id: Sql): Sql =>
      sql`(SELECT ${raw(member)} AS value FROM results
        WHERE experiment_id = ${experimentId} AND result_id = ${id} AND workspace_id = ${workspaceId} OFFSET 0)`;
    const rows = await tx.query<{ place: number }>(
      sql`SELECT place - 1 AS place
        FROM unnest(${pairs.map((one) => one.candidate)}::text[], ${pairs.map((one) => one.baseline)}::text[])
          WITH ORDINALITY AS pair(own, other, place)
        CROSS JOIN LATERAL ${valueOf(candidateId, raw('pair.own'))} own
        CROSS JOIN LATERAL ${valueOf(baselineId, raw('pair.other'))} other
        WHERE CASE WHEN own.value::text ~ '[0-9]{255}' OR other.value::text ~ '[0-9]{255}' THEN false
          ELSE searchable_json(own.value) = searchable_json(other.value) END`,
    );
    return rows.map(({ place }) => place);
  }

  /**
   * Reads results of one experiment, in any order, with their scores by the chosen versions. Other scorers have their current
   * scores.
   *
   * @param withInput ids of the results to read with input and expected
   * @param allowMismatch see `readScores`
   */
  async readRows(
    { workspaceId }: Scope,
    { experiment_id: experimentId, has_people }: ComparedExperiment,
    { resultIds, withInput }: { resultIds: readonly string[]; withInput: readonly string[] },
    scorers: readonly ChosenScorer[],
    allowMismatch: boolean,
  ): Promise<ComparedRow[]> {
    if (resultIds.length === 0) return [];
    const people = peopleOfResults(
      workspaceId,
      raw('(SELECT results.result_id, results.trace_id, results.session_id)'),
      { details: true },
    );
    const columns = raw('source, score, score_id, is_current, label, comment');
    const scoresOfPeople = sql`UNION ALL SELECT scorer_name, scorer_version, ${columns} FROM (${people}) people`;
    return this.database.query<ComparedRow>(
      sql`SELECT result_id, case_id, dataset_record_id, trial_group, output, error, erased, trace_id, session_id, duration_ms,
            trial_index,
            CASE WHEN result_id = ANY (${withInput}::text[]) THEN input END AS input,
            CASE WHEN result_id = ANY (${withInput}::text[]) THEN expected END AS expected,
            scored.scores, scored.score_details
          FROM results CROSS JOIN LATERAL (
            SELECT coalesce(json_object_agg(scorer_name, score), '{}') AS scores,
              coalesce(json_object_agg(scorer_name, json_strip_nulls(json_build_object('label', label, 'comment', comment)))
                FILTER (WHERE num_nonnulls(label, comment) > 0), '{}') AS score_details
            FROM (
              SELECT DISTINCT ON (scorer_name) scorer_name, score, label, comment FROM (
                SELECT scorer_name, coalesce(scorer_version, 0) AS scorer_version, ${columns}
                FROM (SELECT * FROM scores WHERE workspace_id = (SELECT ${workspaceId}::text)
                        AND result_id = results.result_id AND superseded_at IS NULL OFFSET 0) own
                WHERE source IN ('client', 'hosted')
                ${has_people ? scoresOfPeople : empty}
              ) candidate LEFT JOIN ${selectionOf(scorers)} ON selection.scorer = scorer_name
              WHERE selection.scorer IS NULL OR ${allowMismatch}::boolean OR scorer_version = selection.version
              ORDER BY scorer_name, coalesce(scorer_version = selection.version, false) DESC,
                       CASE WHEN selection.scorer IS NOT NULL THEN scorer_version END DESC, ${COUNTS_FIRST}) one) scored
          WHERE experiment_id = ${experimentId} AND workspace_id = ${workspaceId}
            AND result_id = ANY (${resultIds}::text[])`,
    );
  }

  /** Returns the size of each result's current scores, in bytes. */
  async scoreBytes({ workspaceId }: Scope, resultIds: readonly string[]): Promise<Map<string, number>> {
    const rows = await this.database.query<{ result_id: string; bytes: number }>(
      sql`SELECT ids.result_id, ${bytesOfScores(workspaceId, 'ids')}::float8 AS bytes
          FROM unnest(${resultIds}::text[]) AS ids(result_id)`,
    );
    return new Map(rows.map(({ result_id, bytes }) => [result_id, bytes]));
  }

  /** Reads a batch as columns, because a row per result costs more than its content. */
  private async readBatch(tx: Tx, scope: Scope, experimentId: string, after: string): Promise<BatchRow> {
    const row = await firstRow<BatchRow>(
      tx,
      'comparison.batch',
      sql`
        SELECT max(result_id) AS last, json_agg(result_id)::text AS ids, json_agg(case_key)::text AS keys,
               json_agg(is_expected)::text AS expected, json_agg(bytes)::text AS bytes,
               json_agg(has_error)::text AS errors, json_agg(erased)::text AS erased,
               CASE WHEN count(duration_ms) > 0 THEN json_agg(duration_ms)::text END AS durations,
               CASE WHEN count(trace_id) > 0 THEN json_agg(trace_id)::text END AS traces,
               CASE WHEN count(input_hash) > 0 THEN json_agg(input_hash)::text END AS input_hashes,
               CASE WHEN count(expected_hash) > 0 THEN json_agg(expected_hash)::text END AS expected_hashes
        FROM (
          SELECT result_id, coalesce(dataset_record_id, trial_group, case_id) AS case_key, bytes,
                 error IS NOT NULL AS has_error, is_expected, erased, duration_ms, trace_id, input_hash,
                 expected_hash
          FROM results
          WHERE experiment_id = ${experimentId} AND workspace_id = ${scope.workspaceId} AND result_id > ${after}
          ORDER BY result_id LIMIT ${raw(String(RESULTS_AT_ONCE))}
        ) AS batch`,
    );
    return row!;
  }

  private async hasMore(tx: Tx, scope: Scope, experimentId: string, after: string): Promise<boolean> {
    const rows = await tx.query(
      prepared(
        'comparison.more',
        sql`
          SELECT 1 FROM results
          WHERE experiment_id = ${experimentId} AND workspace_id = ${scope.workspaceId} AND result_id > ${after}
          LIMIT 1`,
      ),
    );
    return rows.length > 0;
  }
}

const toBatch = ({ ids, keys, expected, bytes, errors, erased, ...some }: BatchRow): ResultBatch => ({
  resultIds: JSON.parse(ids) as string[],
  caseKeys: JSON.parse(keys) as string[],
  areExpected: JSON.parse(expected) as boolean[],
  bytes: JSON.parse(bytes) as number[],
  hasErrors: JSON.parse(errors) as boolean[],
  areErased: JSON.parse(erased) as boolean[],
  durations: parseOrNull<number>(some.durations),
  traceIds: parseOrNull<string>(some.traces),
  // Rounding to a double leaves 53 bits, which is enough to tell two values apart.
  inputHashes: parseOrNull<number>(some.input_hashes),
  expectedHashes: parseOrNull<number>(some.expected_hashes),
});

const parseOrNull = <Value>(column: string | null): (Value | null)[] | null =>
  column === null ? null : (JSON.parse(column) as (Value | null)[]);
