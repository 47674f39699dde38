import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { Environment } from '#platform/config';
import {
  Database,
  followIndexes,
  join,
  prepared,
  raw,
  readWithin,
  type Sql,
  sql,
  type SqlExecutor,
  type Tx,
  Where,
} from '#platform/db';
import { firstMillisecond } from '#platform/http';
import { firstIdAt } from '#platform/ids';
import { BY_CREATION, type RowPage, scanPage } from '#platform/paging';
import type { ScoreFiltersDto, ScoreListQueryDto } from './score.dto';
import type { ScoreRow } from './score.entity';

const COLUMN_NAMES = [
  'score_id', 'workspace_id', 'scorer_id', 'scorer_kind', 'scorer_version', 'scorer_name', 'source', 'target_kind',
  'trace_id', 'session_id', 'experiment_id', 'result_id', 'result_version', 'case_id', 'span_id', 'score', 'label',
  'answers', 'comment', 'metadata', 'author', 'score_run_id', 'output_sha256', 'supersedes_score_id',
  'superseded_by_score_id', 'superseded_at', 'created_at', 'created_by',
] as const; // oxfmt-ignore
const COLUMNS = COLUMN_NAMES.map((name) => `t.${name}`).join(', ');

/** A score to store, without its relations to other scores. */
export type NewScore = Omit<ScoreRow, 'supersedes_score_id' | 'superseded_by_score_id' | 'superseded_at'>;

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
const SCANNED = ['scorer_version', 'scorer_kind', 'source', 'target_kind', 'case_id', 'label'] as const;

const DAY_MS = 24 * 60 * 60 * 1000;

/** Stores and lists the scores by clients, hosted scoring, people and end users. */
@Injectable()
export class ScoreRepository {
  constructor(
    private readonly database: Database,
    private readonly environment: Environment,
  ) {}

  /**
   * Stores a score. It supersedes the current score of the same target by the same scorer, source, principal and author.
   * Concurrent scores of the same author wait for the transaction, so that each supersedes the one before. Scores by end
   * users without an author supersede nothing, and evaluation events are never superseded.
   *
   * @param isCommentOnly whether the score has only a comment: it then keeps the value of the score that it supersedes
   * @returns the row as it is stored
   */
  async insert(tx: Tx, row: NewScore, { isCommentOnly = false } = {}): Promise<ScoreRow> {
    const isAnonymous = row.source === 'end_user' && row.author === null;
    const earlier = isAnonymous ? null : await this.supersede(tx, row);
    const stored: ScoreRow = {
      ...row,
      ...(isCommentOnly &&
        earlier && { score: earlier.score, label: earlier.label, answers: earlier.answers }),
      supersedes_score_id: earlier?.score_id ?? null,
      superseded_by_score_id: null,
      superseded_at: null,
    };
    await tx.query(
      prepared(
        'score.insert',
        sql`INSERT INTO scores (${raw(COLUMN_NAMES.join(', '))})
          VALUES (${join(COLUMN_NAMES.map((name) => stored[name]))})`,
      ),
    );
    return stored;
  }

  private async supersede(tx: Tx, row: NewScore): Promise<SupersededScore | null> {
    const { workspace_id, scorer_id, result_id, author } = row;
    const target = result_id ?? row.trace_id ?? row.session_id;
    const scorer = scorer_id ?? row.scorer_name;
    const key = [workspace_id, row.target_kind, target, scorer, row.source, row.created_by, author];
    const lock = JSON.stringify(['score', ...key]);
    await tx.query(sql`SELECT pg_advisory_xact_lock(hashtextextended(${lock}, 0))`);
    const isOfTarget =
      result_id === null ? sql`target_id = ${target} AND result_id IS NULL` : sql`result_id = ${result_id}`;
    // a scorer may have taken the name since the earlier score
    const isSameScorer = sql`(scorer_id IS NOT DISTINCT FROM ${scorer_id}::text AND ${scorer_id === null ? sql`scorer_name = ${row.scorer_name}` : sql`true`}
      OR scorer_id IS NULL AND scorer_name = ${row.scorer_name})`;
    // OFFSET keeps the other conditions out of the lookup. PostgreSQL might choose another index for them, and read all
    // scores of an author.
    const [earlier] = await tx.query<SupersededScore>(
      sql`UPDATE scores SET superseded_by_score_id = ${row.score_id}, superseded_at = ${row.created_at}
        WHERE workspace_id = ${workspace_id} AND superseded_at IS NULL AND score_id = ANY (ARRAY(
          SELECT score_id FROM (
            SELECT * FROM scores WHERE workspace_id = (SELECT ${workspace_id}::text) AND ${isOfTarget} AND superseded_at IS NULL OFFSET 0
          ) own
          WHERE target_kind = ${row.target_kind} AND ${isSameScorer} AND source = ${row.source}
            AND created_by = ${row.created_by} AND author IS NOT DISTINCT FROM ${author}::text AND event_key IS NULL))
        RETURNING score_id, score, label, answers`,
    );
    return earlier ?? null;
  }

  async find(scope: Scope, id: string, on: SqlExecutor = this.database): Promise<ScoreRow | null> {
    const [row] = await on.query<ScoreRow>(
      prepared(
        'score.find',
        sql`SELECT ${raw(COLUMNS)} FROM scores t WHERE t.score_id = ${id} AND t.workspace_id = ${scope.workspaceId}`,
      ),
    );
    return row ?? null;
  }

  /**
   * Returns a page of scores. An index serves the most selective filter. The other filters are checked on a bounded number
   * of scores, see `scanPage`.
   */
  list(scope: Scope, query: ScoreListQueryDto): Promise<RowPage<ScoreRow>> {
    const isByScore = query.sort === 'score' || query.sort === '-score';
    const where = Where.estimatedByAverage(scope.key);
    const index = isByScore
      ? (['scorer_id', 'scorer_name'] as const).find((name) => query[name] !== undefined)
      : INDEXED.find((name) => query[name] !== undefined);
    if (index !== undefined) where.add(isEqual(index, query[index]!));
    for (const time of timesOf(query)) where.add(time);
    const others = [...INDEXED, ...SCANNED].flatMap((name) =>
      name === index || query[name] === undefined ? [] : [isEqual(name, query[name])],
    );
    const bounds = boundsOf(query);
    if (isByScore) for (const bound of [IS_CURRENT, HAS_SCORE, ...bounds]) where.add(bound);
    const isCurrent = query.include_superseded === true ? [] : [IS_CURRENT];
    const conditions = isByScore ? others : [...others, ...bounds, ...isCurrent];
    const spec = {
      columns: COLUMNS,
      table: 'scores',
      where,
      id: 't.score_id',
      sorts: { ...BY_CREATION, score: { expression: 't.score', type: 'float8' as const } },
      defaultSort: '-created_at',
      bytes: 't.bytes',
      ...(conditions.length > 0 && { condition: join(conditions, ' AND ') }),
    };
    const deadline = performance.now() + this.environment.REQUEST_TIMEOUT_MS;
    return readWithin(this.database, deadline, async (on) => {
      await followIndexes(on);
      return scanPage<ScoreRow>(on, spec, query);
    });
  }
}

const IS_CURRENT = sql`t.superseded_at IS NULL`;
const HAS_SCORE = sql`t.score IS NOT NULL`;

/** Returns the conditions on current scores `t` of a workspace that meet all filters. */
export const conditionsOf = ({ workspaceId }: Scope, filters: ScoreFiltersDto): Sql[] => [
  sql`t.workspace_id = (SELECT ${workspaceId}::text)`,
  ...[...INDEXED, ...SCANNED].flatMap((name) =>
    filters[name] === undefined ? [] : [isEqual(name, filters[name])],
  ),
  ...boundsOf(filters),
  ...timesOf(filters),
  IS_CURRENT,
];

/**
 * Returns an equality condition. A source is a subquery, because PostgreSQL would otherwise choose an index over all scores of
 * the source, whatever the other filters are.
 */
const isEqual = (name: (typeof INDEXED)[number] | (typeof SCANNED)[number], value: string | number): Sql =>
  name === 'source' ? sql`t.source = (SELECT ${value}::text)` : sql`t.${raw(name)} = ${value}`;

const boundsOf = ({ min_score, max_score }: ScoreFiltersDto): Sql[] => [
  ...(min_score === undefined ? [] : [sql`t.score >= ${min_score}::float8`]),
  ...(max_score === undefined ? [] : [sql`t.score <= ${max_score}::float8`]),
];

/**
 * Returns the conditions on the time. Ids also contain the time, so that bounds on the ids let an index skip the rows outside.
 * These bounds are a day wider, because a clock may have been set back.
 */
function timesOf({ since, until }: ScoreFiltersDto): Sql[] {
  const [from, to] = [since, until].map((time) => (time === undefined ? null : firstMillisecond(time)));
  const idAt = (time: Date, days: number): string => firstIdAt('score', time.getTime() + days * DAY_MS);
  return [
    ...(from ? [sql`t.created_at >= ${from} AND t.score_id >= ${idAt(from, -1)}`] : []),
    ...(to ? [sql`t.created_at < ${to} AND t.score_id < ${idAt(to, 1)}`] : []),
  ];
}
