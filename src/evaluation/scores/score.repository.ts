import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { Environment } from '#platform/config';
import {
  type BulkColumn,
  BulkColumns,
  Database,
  firstRow,
  followIndexes,
  join,
  prepared,
  raw,
  readWithin,
  sql,
  type Sql,
  type SqlExecutor,
  type Tx,
  Where,
} from '#platform/db';
import { parseJson, toRawJson } from '#platform/json';
import { BY_CREATION, createdWithin, listPage, type RowPage } from '#platform/paging';
import type { ScoreFiltersDto, ScoreListQueryDto } from './score.dto';
import type { ScoreRow } from './score.entity';

const COLUMN_NAMES = [
  'score_id', 'workspace_id', 'scorer_id', 'scorer_kind', 'scorer_version', 'scorer_name', 'source', 'target_kind',
  'trace_id', 'session_id', 'experiment_id', 'result_id', 'result_version', 'case_id', 'span_id', 'score', 'label',
  'answers', 'comment', 'metadata', 'author', 'score_run_id', 'model', 'judge_digest', 'is_truncated', 'output_sha256',
  'min_annotations', 'is_late', 'is_current', 'supersedes_score_id', 'superseded_by_score_id', 'superseded_at', 'trace_check_at',
  'created_at', 'created_by',
] as const; // oxfmt-ignore
const COLUMNS = COLUMN_NAMES.map((name) => `t.${name}`).join(', ');

/** A score to store, without its relations to other scores. */
export type NewScore = Omit<
  ScoreRow,
  'is_truncated' | 'is_current' | 'supersedes_score_id' | 'superseded_by_score_id' | 'superseded_at'
>;

/** A score to store, of which a comment alone keeps the value of the score that it supersedes. */
export type RecordedScore = NewScore & { isCommentOnly: boolean };

/** A score that a client uploads with a result. */
export type UploadedScore = Pick<
  ScoreRow,
  | 'score_id'
  | 'result_id'
  | 'result_version'
  | 'case_id'
  | 'trace_id'
  | 'session_id'
  | 'scorer_name'
  | 'scorer_version'
  | 'scorer_id'
  | 'score'
  | 'label'
  | 'comment'
  | 'metadata'
>;

/** The run that gives hosted scores. */
export interface ScoringRun {
  score_run_id: string;
  workspace_id: string;
  scorer_id: string;
  scorer_version: number;
  created_by: string;
}

/** A score of a run. */
export interface HostedScore extends Pick<
  ScoreRow,
  | 'score_id'
  | 'target_kind'
  | 'trace_id'
  | 'session_id'
  | 'experiment_id'
  | 'result_id'
  | 'result_version'
  | 'case_id'
  | 'score'
  | 'label'
  | 'comment'
  | 'model'
  | 'judge_digest'
  | 'is_truncated'
  | 'is_late'
> {
  target_id: string;
  answers: object | null;
  /** Whether the result was replaced after it was selected. */
  is_replaced: boolean;
}

const NO_HOSTED: ReadonlyMap<string, string> = new Map();

const microseconds = (time: Date | null): bigint | null =>
  time === null ? null : BigInt(time.getTime()) * 1000n;

const STORED = new BulkColumns<ScoreRow>(
  COLUMN_NAMES.map((name): BulkColumn<ScoreRow> => {
    switch (name) {
      case 'scorer_version':
      case 'result_version':
      case 'min_annotations':
        return { name, type: 'int4', value: (row) => row[name] };
      case 'score':
        return { name, type: 'float8', value: (row) => row[name] };
      case 'answers':
      case 'metadata':
        return { name, type: 'json', value: (row) => row[name]?.toPostgres() ?? null };
      case 'is_truncated':
      case 'is_late':
      case 'is_current':
        return { name, type: 'bool', value: (row) => row[name] };
      case 'superseded_at':
      case 'trace_check_at':
      case 'created_at':
        return { name, type: 'timestamptz', value: (row) => microseconds(row[name]) };
      default:
        return { name, type: 'text', value: (row) => row[name] };
    }
  }),
);

/** What tells which earlier scores a new one supersedes. */
const IDENTITIES = new BulkColumns<NewScore>([
  { name: 'score_id', type: 'text', value: ({ score_id }) => score_id },
  { name: 'target_kind', type: 'text', value: ({ target_kind }) => target_kind },
  { name: 'target_id', type: 'text', value: (score) => targetOf(score) },
  { name: 'scorer_id', type: 'text', value: ({ scorer_id }) => scorer_id },
  { name: 'scorer_name', type: 'text', value: ({ scorer_name }) => scorer_name },
  { name: 'source', type: 'text', value: ({ source }) => source },
  { name: 'author', type: 'text', value: ({ author }) => author },
  { name: 'created_at', type: 'timestamptz', value: ({ created_at }) => microseconds(created_at) },
]);

/** The id of the target of a score. */
export const targetOf = ({
  result_id,
  trace_id,
  session_id,
}: Pick<ScoreRow, 'result_id' | 'trace_id' | 'session_id'>): string => (result_id ?? trace_id ?? session_id)!;

const isAnonymous = ({ source, author }: NewScore): boolean => source === 'end_user' && author === null;

/** Scores of one principal with the same identity supersede each other. */
const identityOf = (score: NewScore): string =>
  JSON.stringify([
    isAnonymous(score) && score.score_id,
    score.target_kind,
    targetOf(score),
    score.scorer_id === null ? ['name', score.scorer_name] : score.scorer_id,
    score.source,
    score.author,
  ]);

const mayBeCurrent = ({ source, result_id }: NewScore): boolean => source === 'client' && result_id !== null;

const nameInResult = ({ result_id, scorer_name }: Pick<ScoreRow, 'result_id' | 'scorer_name'>): string =>
  `${result_id} ${scorer_name}`;

type SupersededScore = Pick<ScoreRow, 'score_id' | 'score' | 'label' | 'answers'>;

/** The filters that an index serves, the most selective first. */
const INDEXED = [
  'result_id',
  'trace_id',
  'session_id',
  'score_run_id',
  'author',
  'experiment_id',
  'scorer_id',
  'scorer_name',
  'created_by',
] as const;

/** The other filters. */
const SCANNED = [
  'scorer_version',
  'scorer_kind',
  'source',
  'target_kind',
  'result_version',
  'case_id',
  'span_id',
  'label',
  'model',
  'judge_digest',
  'is_truncated',
] as const;

/** Further filters of the list. */
const RELATED = ['supersedes_score_id', 'superseded_by_score_id'] as const;

/** Stores and lists the scores by clients, hosted scoring, people and end users. */
@Injectable()
export class ScoreRepository {
  constructor(
    private readonly database: Database,
    private readonly environment: Environment,
  ) {}

  /**
   * Stores scores of locked targets, in this order. Each supersedes the current score of the same target by the same scorer,
   * source, principal and author, stored or among these. Scores by end users without an author supersede nothing, and
   * evaluation events are never superseded. A hosted score of the same name and result supersedes a client's score at once.
   *
   * @returns the rows as they are stored
   */
  async insert(tx: Tx, scope: Scope, scores: readonly RecordedScore[]): Promise<ScoreRow[]> {
    if (scores.length === 0) return [];
    const chains = new Map<string, RecordedScore[]>();
    for (const score of scores) {
      const chain = chains.get(identityOf(score));
      if (chain) chain.push(score);
      else chains.set(identityOf(score), [score]);
    }
    const heads = [...chains.values()].map((chain) => chain[0]!).filter((score) => !isAnonymous(score));
    const [ofResults, ofOthers] = [true, false].map((is) =>
      heads.filter(({ result_id }) => (result_id !== null) === is),
    ) as [RecordedScore[], RecordedScore[]];
    const earlier = new Map([
      ...(await this.supersede(tx, scope, ofResults)),
      ...(await this.supersede(tx, scope, ofOthers)),
    ]);
    const ofNames = scores.filter(mayBeCurrent);
    const hosted = await this.replaceCurrent(tx, scope.workspaceId, ofNames);
    const last = new Map(ofNames.map((score) => [nameInResult(score), score.score_id]));
    const rows = new Map<string, ScoreRow>();
    for (const chain of chains.values()) {
      let previous: SupersededScore | undefined = earlier.get(chain[0]!.score_id);
      for (const [place, { isCommentOnly, ...row }] of chain.entries()) {
        const isCandidate = mayBeCurrent(row);
        const hostedId = isCandidate ? hosted.get(nameInResult(row)) : undefined;
        const nextId = hostedId ?? chain[place + 1]?.score_id ?? null;
        const stored: ScoreRow = {
          ...row,
          ...(isCommentOnly &&
            previous && { score: previous.score, label: previous.label, answers: previous.answers }),
          is_truncated: false,
          supersedes_score_id: previous?.score_id ?? null,
          superseded_by_score_id: nextId,
          superseded_at: nextId === null ? null : row.created_at,
          is_current: isCandidate && nextId === null && last.get(nameInResult(row)) === row.score_id,
        };
        rows.set(row.score_id, stored);
        // what a hosted score has superseded is not superseded again
        previous = hostedId === undefined ? stored : undefined;
      }
    }
    const inserted = scores.map(({ score_id }) => rows.get(score_id)!);
    await tx.query(
      prepared(
        'score.insert',
        sql`INSERT INTO scores (${STORED.columnList}) SELECT * FROM ${STORED.table(inserted, 'input')}`,
      ),
    );
    return inserted;
  }

  /**
   * Supersedes the stored scores that new ones of different identities replace, either all of results or none. Returns them by
   * the id of the new score.
   */
  private async supersede(
    tx: Tx,
    { workspaceId, principalId }: Scope,
    scores: readonly NewScore[],
  ): Promise<[string, SupersededScore][]> {
    if (scores.length === 0) return [];
    const isOfTarget =
      scores[0]!.result_id === null
        ? sql`target_id = target.id AND result_id IS NULL`
        : sql`result_id = target.id`;
    // OFFSET keeps the other conditions out of the lookup. PostgreSQL might choose another index for them, and read all
    // scores of an author. A scorer may have taken the name since the earlier score.
    const superseded = await tx.query<SupersededScore & { new_score_id: string }>(
      sql`WITH input AS MATERIALIZED (SELECT * FROM ${IDENTITIES.table(scores, 'input')}), earlier AS MATERIALIZED (
          SELECT own.score_id, input.score_id AS new_score_id, input.created_at
          FROM (SELECT DISTINCT target_id AS id FROM input OFFSET 0) target CROSS JOIN LATERAL (
            SELECT * FROM scores WHERE workspace_id = (SELECT ${workspaceId}::text) AND ${isOfTarget} AND superseded_at IS NULL OFFSET 0
          ) own
          JOIN input ON input.target_id = own.target_id AND input.target_kind = own.target_kind AND input.source = own.source
            AND input.author IS NOT DISTINCT FROM own.author
            AND (input.scorer_id = own.scorer_id OR own.scorer_id IS NULL AND input.scorer_name = own.scorer_name)
          WHERE own.created_by = ${principalId} AND own.event_key IS NULL
        )
        UPDATE scores SET superseded_by_score_id = new_score_id, superseded_at = earlier.created_at, is_current = false
        FROM earlier
        WHERE (scores.workspace_id = ${workspaceId}) IS TRUE AND scores.score_id = earlier.score_id
          AND scores.score_id = ANY (ARRAY(SELECT score_id FROM earlier))
        RETURNING new_score_id, scores.score_id, scores.score, scores.label, scores.answers`,
    );
    return superseded.map(({ new_score_id, ...score }) => [new_score_id, score]);
  }

  /**
   * Clears `is_current` of clients' scores under these names of results. Returns the hosted scores that stay current, by
   * `nameInResult`.
   */
  private async replaceCurrent(
    tx: Tx,
    workspaceId: string,
    names: readonly Pick<ScoreRow, 'result_id' | 'scorer_name'>[],
  ): Promise<ReadonlyMap<string, string>> {
    if (names.length === 0) return NO_HOSTED;
    const rows = await tx.query<{ result_id: string; scorer_name: string; score_id: string }>(
      sql`WITH name AS MATERIALIZED (
            SELECT DISTINCT * FROM unnest(${names.map((one) => one.result_id)}::text[], ${names.map((one) => one.scorer_name)}::text[])
              AS name(result_id, scorer_name)
          ), existing AS MATERIALIZED (
            SELECT own.score_id, own.result_id, own.scorer_name, own.source
            FROM (SELECT DISTINCT result_id AS id FROM name OFFSET 0) target CROSS JOIN LATERAL (
              SELECT * FROM scores WHERE workspace_id = (SELECT ${workspaceId}::text) AND result_id = target.id
                AND is_current OFFSET 0) own
            JOIN name USING (result_id, scorer_name)
          ), replaced AS (
            UPDATE scores SET is_current = false
            WHERE (workspace_id = ${workspaceId}) IS TRUE AND score_id = ANY (ARRAY(SELECT score_id FROM existing WHERE source = 'client'))
          )
          SELECT result_id, scorer_name, score_id FROM existing WHERE source = 'hosted'`,
    );
    return new Map(rows.map((row) => [nameInResult(row), row.score_id]));
  }

  /**
   * Stores the scores that a client uploads with new or replaced results, whose earlier scores are superseded. Returns the
   * scorers that have a name of a score that was sent without an id, by the id of the score.
   */
  async insertUploaded(
    tx: Tx,
    scope: Scope,
    experimentId: string,
    rows: readonly (UploadedScore & { superseded_by_score_id?: string | null })[],
    at: Date,
  ): Promise<ReadonlyMap<string, string>> {
    if (rows.length === 0) return new Map();
    const named = await tx.query<{ score_id: string; scorer_id: string }>(
      prepared(
        'score.insert-uploaded',
        sql`WITH input AS MATERIALIZED (
            SELECT * FROM json_to_recordset(${toRawJson(rows)}::json) AS input(
              score_id text, result_id text, result_version integer, case_id text, trace_id text, session_id text,
              scorer_name text, scorer_version integer, scorer_id text, score double precision, label text, comment text,
              metadata json, superseded_by_score_id text)
          ), named_scorer AS MATERIALIZED (
            SELECT name.*, scorer.* FROM (SELECT DISTINCT scorer_name, scorer_id AS input_id FROM input) name
            LEFT JOIN LATERAL (
              SELECT scorer_id, scorer_kind FROM scorers s
              WHERE s.scorer_id = name.input_id AND s.workspace_id = ${scope.workspaceId}
              UNION ALL
              SELECT scorer_id, scorer_kind FROM scorers s
              WHERE s.name = name.scorer_name AND s.archived_at IS NULL AND name.input_id IS NULL
                AND s.scorer_kind <> 'human' AND s.workspace_id = ${scope.workspaceId}
            ) scorer ON true
          ), inserted AS (
            INSERT INTO scores (score_id, workspace_id, scorer_id, scorer_version, scorer_kind, scorer_name, source,
                                target_kind, trace_id, session_id, experiment_id, result_id, result_version, case_id,
                                score, label, comment, metadata, superseded_by_score_id, superseded_at, is_current,
                                created_at, created_by)
            SELECT score_id, ${scope.workspaceId}, named_scorer.scorer_id, scorer_version, named_scorer.scorer_kind,
                   scorer_name, 'client', 'result', trace_id, session_id, ${experimentId}, result_id, result_version,
                   case_id, score, label, comment, metadata, superseded_by_score_id,
                   CASE WHEN superseded_by_score_id IS NOT NULL THEN ${at}::timestamptz END,
                   superseded_by_score_id IS NULL, ${at}::timestamptz, ${scope.principalId}
            FROM input JOIN named_scorer USING (scorer_name)
            WHERE named_scorer.input_id IS NOT DISTINCT FROM input.scorer_id
          )
          SELECT score_id, named_scorer.scorer_id FROM input JOIN named_scorer USING (scorer_name)
          WHERE input.scorer_id IS NULL AND named_scorer.input_id IS NULL AND named_scorer.scorer_id IS NOT NULL`,
      ),
    );
    return new Map(named.map((row) => [row.score_id, row.scorer_id]));
  }

  /**
   * Stores scores that a client adds to a locked result. They supersede the scores that it has added under the same names. A
   * hosted score of the same name supersedes them at once.
   */
  async replaceUploaded(
    tx: Tx,
    scope: Scope,
    experimentId: string,
    resultId: string,
    rows: readonly UploadedScore[],
    at: Date,
  ): Promise<void> {
    if (rows.length === 0) return;
    const names = rows.map((row) => row.scorer_name);
    const scoreIds = rows.map((row) => row.score_id);
    await tx.query(
      sql`WITH earlier AS MATERIALIZED (
          SELECT own.score_id, new_score.score_id AS new_score_id
          FROM (SELECT * FROM scores WHERE workspace_id = (SELECT ${scope.workspaceId}::text) AND result_id = ${resultId}
                  AND superseded_at IS NULL OFFSET 0) own
          JOIN unnest(${names}::text[], ${scoreIds}::text[]) AS new_score(scorer_name, score_id) USING (scorer_name)
          WHERE own.source = 'client' AND own.created_by = ${scope.principalId} AND own.author IS NULL
        )
        UPDATE scores SET superseded_at = ${at}, superseded_by_score_id = earlier.new_score_id, is_current = false
        FROM earlier
        WHERE (scores.workspace_id = ${scope.workspaceId}) IS TRUE AND scores.score_id = earlier.score_id
          AND scores.score_id = ANY (ARRAY(SELECT score_id FROM earlier))`,
    );
    const named = names.map((scorer_name) => ({ result_id: resultId, scorer_name }));
    const hosted = await this.replaceCurrent(tx, scope.workspaceId, named);
    const hidden = rows.map((row) => ({
      ...row,
      superseded_by_score_id: hosted.get(nameInResult({ ...row, result_id: resultId })) ?? null,
    }));
    await this.insertUploaded(tx, scope, experimentId, hidden, at);
  }

  /** Marks all scores of replaced results as superseded, regardless of their source. */
  async supersedeAll(tx: Tx, { workspaceId }: Scope, resultIds: readonly string[], at: Date): Promise<void> {
    if (resultIds.length === 0) return;
    await tx.query(
      sql`UPDATE scores SET superseded_at = ${at}, is_current = false
        WHERE (workspace_id = ${workspaceId}) IS TRUE AND superseded_at IS NULL AND score_id = ANY (ARRAY(
          SELECT score_id FROM (
            SELECT * FROM scores WHERE workspace_id = (SELECT ${workspaceId}::text) AND result_id = ANY (${resultIds}::text[]) OFFSET 0
          ) own))`,
    );
  }

  /**
   * Stores scores of one run for locked targets. Each supersedes the score of its target by the same version of the scorer,
   * and the client's scores of the scorer's name. A score of a result that was replaced meanwhile is superseded at once.
   */
  async insertHosted(tx: Tx, run: ScoringRun, scores: readonly HostedScore[]): Promise<void> {
    if (scores.length === 0) return;
    await tx.query(
      sql`WITH scorer AS MATERIALIZED (
          SELECT scorer_kind, name FROM scorers
          WHERE workspace_id = ${run.workspace_id} AND scorer_id = ${run.scorer_id}
        ), new_score AS MATERIALIZED (
          SELECT *, clock_timestamp() AS created_at FROM json_to_recordset(${toRawJson(scores)}::json) AS input(
            score_id text, target_kind text, target_id text, trace_id text, session_id text, experiment_id text,
            result_id text, result_version integer, case_id text, score float8, label text, answers json, comment text,
            model text, judge_digest text, is_truncated boolean, is_late boolean, is_replaced boolean)
        ), same_version AS MATERIALIZED (
          SELECT own.score_id, new_score.score_id AS new_score_id, new_score.created_at
          FROM new_score CROSS JOIN LATERAL (
            SELECT * FROM scores
            WHERE scores.workspace_id = ${run.workspace_id} AND source = 'hosted' AND superseded_at IS NULL
              AND (scores.scorer_id, scores.scorer_version, scores.target_kind, scores.target_id)
                  >= (${run.scorer_id}, ${run.scorer_version}::integer, new_score.target_kind, new_score.target_id)
            ORDER BY scorer_id, scorer_version, target_kind, target_id LIMIT 1
          ) own
          WHERE NOT new_score.is_replaced AND own.scorer_id = ${run.scorer_id} AND own.scorer_version = ${run.scorer_version}
            AND own.target_kind = new_score.target_kind AND own.target_id = new_score.target_id
        ), of_result AS MATERIALIZED (
          SELECT own.score_id, own.source, own.is_current, new_score.score_id AS new_score_id, new_score.created_at,
                 own.is_current AND own.scorer_id = ${run.scorer_id} AND own.scorer_version > ${run.scorer_version} AS is_newer
          FROM new_score CROSS JOIN LATERAL (
            SELECT * FROM scores
            WHERE workspace_id = (SELECT ${run.workspace_id}::text) AND result_id = new_score.result_id
              AND superseded_at IS NULL AND source IN ('client', 'hosted') OFFSET 0
          ) own
          WHERE NOT new_score.is_replaced AND own.scorer_name = (SELECT name FROM scorer)
        ), changed AS MATERIALIZED (
          SELECT score_id, new_score_id, created_at, true AS is_superseded FROM same_version
          UNION
          SELECT score_id, new_score_id, created_at, true FROM of_result WHERE source = 'client'
          UNION
          SELECT score_id, new_score_id, created_at, false FROM of_result
          WHERE source = 'hosted' AND is_current AND NOT is_newer AND score_id NOT IN (SELECT score_id FROM same_version)
        ), updated AS (
          UPDATE scores
          SET is_current = false,
              superseded_by_score_id = CASE WHEN changed.is_superseded THEN changed.new_score_id ELSE scores.superseded_by_score_id END,
              superseded_at = CASE WHEN changed.is_superseded THEN changed.created_at END
          FROM changed
          WHERE (scores.workspace_id = ${run.workspace_id}) IS TRUE AND scores.score_id = ANY (ARRAY(SELECT score_id FROM changed))
            AND scores.score_id = changed.score_id AND scores.superseded_at IS NULL
          RETURNING scores.score_id
        )
        INSERT INTO scores (score_id, workspace_id, scorer_id, scorer_version, scorer_kind, scorer_name, source,
                            target_kind, trace_id, session_id, experiment_id, result_id, result_version, case_id,
                            score, label, answers, comment, score_run_id, model, judge_digest, is_truncated, is_late,
                            is_current,                            supersedes_score_id, superseded_at, created_at, created_by)
        SELECT score_id, ${run.workspace_id}, ${run.scorer_id}, ${run.scorer_version}::integer, scorer.scorer_kind, scorer.name,
               'hosted', target_kind, trace_id, session_id, experiment_id, result_id, result_version, case_id, score,
               label, answers, comment, ${run.score_run_id}, model, judge_digest, is_truncated, is_late,
               result_id IS NOT NULL AND NOT is_replaced AND NOT EXISTS (
                 SELECT FROM of_result WHERE of_result.new_score_id = new_score.score_id AND is_newer),
               (SELECT score_id FROM same_version WHERE same_version.new_score_id = new_score.score_id),
               CASE WHEN is_replaced THEN created_at END, created_at, ${run.created_by}
        FROM new_score CROSS JOIN scorer
        -- no row before all updates, which make room in the unique indexes
        CROSS JOIN (SELECT count(*) FROM updated) done`,
    );
  }

  /** Deletes a score. Returns false if it does not exist. */
  async delete(tx: Tx, { workspaceId }: Scope, id: string): Promise<boolean> {
    const deleted = await tx.query(
      sql`DELETE FROM scores WHERE score_id = ${id} AND workspace_id = ${workspaceId} RETURNING 1`,
    );
    return deleted.length > 0;
  }

  async find(scope: Scope, id: string, on: SqlExecutor = this.database): Promise<ScoreRow | null> {
    return firstRow<ScoreRow>(
      on,
      'score.find',
      sql`SELECT ${raw(COLUMNS)} FROM scores t WHERE t.score_id = ${id} AND t.workspace_id = ${scope.workspaceId}`,
    );
  }

  /**
   * Returns a page of scores. An index serves the most selective filter. The other filters are checked on a bounded number
   * of scores, see `listPage`.
   */
  list(scope: Scope, query: ScoreListQueryDto): Promise<RowPage<ScoreRow>> {
    const isByScore = query.sort === 'score' || query.sort === '-score';
    const where = Where.estimatedByAverage(scope.key);
    const index = isByScore
      ? (['scorer_id', 'scorer_name'] as const).find((name) => query[name] !== undefined)
      : INDEXED.find((name) => query[name] !== undefined);
    if (index !== undefined) where.add(isEqual(index, query[index]!));
    else if (isByScore) where.add(sql`(t.workspace_id || '') = ${scope.workspaceId}`); // the key of scores_by_score
    for (const time of timesOf(query)) where.add(time);
    const others = [...INDEXED, ...SCANNED, ...RELATED].flatMap((name) =>
      name === index || query[name] === undefined ? [] : [isEqual(name, query[name])],
    );
    others.push(...contentsOf(query));
    const bounds = boundsOf(query);
    if (isByScore) for (const bound of [NOT_SUPERSEDED, HAS_SCORE, ...bounds]) where.add(bound);
    const notSuperseded = query.include_superseded === true ? [] : [NOT_SUPERSEDED];
    const conditions = isByScore ? others : [...others, ...bounds, ...notSuperseded];
    const spec = {
      columns: COLUMNS,
      from: sql`scores t`,
      where,
      id: 't.score_id',
      sorts: { ...BY_CREATION, score: { expression: 't.score', type: 'float8' as const } },
      defaultSort: '-created_at',
      bytes: 't.bytes',
      scan: conditions.length > 0 ? { condition: join(conditions, ' AND ') } : {},
    };
    const deadline = performance.now() + this.environment.REQUEST_TIMEOUT_MS;
    return readWithin(this.database, deadline, async (on) => {
      await followIndexes(on);
      return listPage<ScoreRow>(on, spec, query);
    });
  }
}

const NOT_SUPERSEDED = sql`t.superseded_at IS NULL`;
const HAS_SCORE = sql`t.score IS NOT NULL`;

/** Returns the conditions on current scores `t` of a workspace that meet all filters. */
export const conditionsOf = ({ workspaceId }: Scope, filters: ScoreFiltersDto): Sql[] => [
  sql`t.workspace_id = (SELECT ${workspaceId}::text)`,
  ...[...INDEXED, ...SCANNED].flatMap((name) =>
    filters[name] === undefined ? [] : [isEqual(name, filters[name])],
  ),
  ...boundsOf(filters),
  ...timesOf(filters),
  NOT_SUPERSEDED,
];

/**
 * Returns an equality condition. A source is a subquery, because PostgreSQL would otherwise choose an index over all scores of
 * the source, whatever the other filters are.
 */
const isEqual = (
  name: (typeof INDEXED | typeof SCANNED | typeof RELATED)[number],
  value: string | number | boolean,
): Sql => (name === 'source' ? sql`t.source = (SELECT ${value}::text)` : sql`t.${raw(name)} = ${value}`);

const boundsOf = ({ min_score, max_score }: ScoreFiltersDto): Sql[] => [
  ...(min_score === undefined ? [] : [sql`t.score >= ${min_score}::float8`]),
  ...(max_score === undefined ? [] : [sql`t.score <= ${max_score}::float8`]),
];

/** Returns the conditions on texts and free-form members. */
const contentsOf = ({ comment, answers, metadata }: ScoreListQueryDto): Sql[] => [
  ...(comment === undefined ? [] : [sql`strpos(lower(t.comment), lower(${comment})) > 0`]),
  ...(answers === undefined ? [] : [includes('answers', answers)]),
  ...(metadata === undefined ? [] : [includes('metadata', metadata)]),
];

/** @param part JSON text */
const includes = (column: 'answers' | 'metadata', part: string): Sql =>
  sql`searchable_json(t.${raw(column)}) @> searchable_json(${toRawJson(parseJson(Buffer.from(part)))}::json)`;

const timesOf = (filters: ScoreFiltersDto): Sql[] => createdWithin('t.score_id', 't.created_at', filters);
