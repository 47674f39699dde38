import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { Environment } from '#platform/config';
import {
  Database,
  empty,
  firstRow,
  followIndexes,
  join,
  raw,
  readWithin,
  sql,
  type Sql,
  type SqlExecutor,
  Where,
} from '#platform/db';
import {
  BY_CHANGE,
  BY_CREATION,
  createdWithin,
  filteredBatches,
  listPage,
  type RowPage,
  type ListSpec,
} from '#platform/paging';
import {
  checkScorerNames,
  readScoreFilters,
  readScoreSort,
  type ScoreBounds,
  type ScoreSort,
} from '../../../telemetry';
import {
  bytesOfScores,
  withCurrentScores,
  hasScore,
  mayHavePeople,
  sortedScores,
  unknownScorers,
} from '../../scores';
import type { Result, ResultRow } from './result.entity';
import { RESULT_SORTS, type ResultFiltersDto, type ResultListQueryDto } from './result-query.dto';
import { RESULT_SELECT } from './result.repository';

/** The columns of a list. The scores of a result count towards its size, and are read for the rows of the page. */
const columnsOf = (workspaceId: string) => ({
  columns: RESULT_SELECT,
  bytes: sql`t.bytes + ${bytesOfScores(workspaceId, 't')}`,
});

/** The filter conditions of a list, by how they are checked. */
interface Conditions {
  /** Met by at most one result, the one of a case. */
  unique: Sql[];
  /** Each served by an index in the order of creation. */
  indexed: Sql[];
  /** On other columns. */
  scanned: Sql[];
  scores: ScoreBounds[];
}

/** Lists and exports the results of an experiment. */
@Injectable()
export class ResultListRepository {
  constructor(
    private readonly database: Database,
    private readonly environment: Environment,
  ) {}

  /**
   * Returns a page of results with their current scores. Conditions without an index are checked on a bounded number of
   * results, see `listPage`. Errors: 400 for malformed `score` filters, 422 for an unknown operator, sort or scorer name.
   */
  async list(scope: Scope, experimentId: string, query: ResultListQueryDto): Promise<RowPage<Result>> {
    const checked = ahead(this.checkScorers(scope, query));
    const { rows, page } = await this.listRows(scope, experimentId, query);
    await checked;
    return { rows: await withCurrentScores(this.database, scope, rows), page };
  }

  private async listRows(
    scope: Scope,
    experimentId: string,
    query: ResultListQueryDto,
  ): Promise<RowPage<ResultRow>> {
    const conditions = conditionsOf(query);
    const sort = readScoreSort(RESULT_SORTS, query.sort ?? '-created_at');
    const where = whereOf(scope, experimentId, conditions);
    const isScanned = conditions.scanned.length + conditions.scores.length > 0;
    const columns = columnsOf(scope.workspaceId);
    const plain = { ...columns, from: 'results t', where, id: 'result_id', sorts: BY_CHANGE };
    const isPlain = sort.by === 'created_at' || sort.by === 'updated_at';
    if (isPlain && !isScanned) return listPage<ResultRow>(this.database, plain, query);
    const scan = { ...scanOf(scope, conditions), where, sorts: BY_CHANGE, defaultSort: '-created_at' };
    const countAll = () => totalOf(listPage(this.database, plain, { limit: 0 }));
    // a cursor has the total
    const isCountedAhead = !isPlain && !isScanned && query.cursor === undefined && query.total !== false;
    const counted = isCountedAhead ? ahead(countAll()) : undefined;
    const people = sort.by === 'score' ? ahead(this.mayHavePeople(scope, experimentId, sort)) : undefined;
    const deadline = performance.now() + this.environment.REQUEST_TIMEOUT_MS;
    return readWithin(this.database, deadline, async (on) => {
      if (conditions.unique.length + conditions.indexed.length === 0) await followIndexes(on);
      if (isPlain) return listPage<ResultRow>(on, scan, query);
      const total = () => (isScanned ? totalOf(listPage(on, scan, { limit: 0 })) : (counted ?? countAll()));
      return sort.by === 'score'
        ? this.listByScore(on, scope, experimentId, {
            conditions,
            sort,
            query,
            total,
            withPeople: await people!,
          })
        : this.listByDuration(on, scope, experimentId, { conditions, query, total });
    });
  }

  private async checkScorers(
    scope: Scope,
    { sort = '-created_at', score }: ResultListQueryDto,
  ): Promise<void> {
    await checkScorerNames(readScoreSort(RESULT_SORTS, sort), readScoreFilters(score), (names) =>
      unknownScorers(this.database, scope, names),
    );
  }

  /** Yields the results as they are stored, oldest first, see `filteredBatches`. Errors: those of the filters, see `list`. */
  async *batches(
    scope: Scope,
    experimentId: string,
    filters: ResultFiltersDto,
  ): AsyncGenerator<Result[], void, undefined> {
    const { workspaceId } = scope;
    await this.checkScorers(scope, { score: filters.score });
    const { unique, indexed, scanned, scores } = conditionsOf(filters);
    const matching = [raw('true'), ...unique, ...indexed, ...scanned, ...lookupsOf(workspaceId, scores)];
    const batches = filteredBatches<ResultRow>(this.database, {
      columns: RESULT_SELECT,
      examined: (after) =>
        sql`SELECT workspace_id, experiment_id, result_id AS id FROM results
          WHERE workspace_id = ${workspaceId} AND experiment_id = ${experimentId} AND result_id > ${after}
          ORDER BY result_id`,
      matches: sql`SELECT t.*, t.result_id AS id
          FROM examined CROSS JOIN LATERAL (
            SELECT *, bytes + ${bytesOfScores(workspaceId, 'r')} AS size FROM results r
            WHERE r.workspace_id = examined.workspace_id AND r.experiment_id = examined.experiment_id
              AND r.result_id = examined.id OFFSET 0
          ) t
          WHERE ${join(matching, ' AND ')}`,
    });
    for await (const rows of batches) yield await withCurrentScores(this.database, scope, rows);
  }

  private async mayHavePeople(
    { workspaceId }: Scope,
    experimentId: string,
    { scorer }: ScoreSort,
  ): Promise<boolean> {
    const people = await firstRow<{ may_count: boolean }>(
      this.database,
      'result.sorted-people',
      sql`SELECT ${mayHavePeople(workspaceId, experimentId, scorer)} AS may_count`,
    );
    return people!.may_count;
  }

  /** Reads the results with a score in the order of an index over scores, and then those without. */
  private async listByScore(
    on: SqlExecutor,
    scope: Scope,
    experimentId: string,
    { conditions, sort, query, total, withPeople }: SortedList & { sort: ScoreSort; withPeople: boolean },
  ): Promise<RowPage<ResultRow>> {
    const own = conditions.scores.filter(({ scorer }) => scorer === sort.scorer);
    const others = { ...conditions, scores: conditions.scores.filter((one) => !own.includes(one)) };
    const name = sort.key;
    const { workspaceId } = scope;
    const condition = { scorer: sort.scorer, bounds: boundsOf(own) };
    const sorting = { descending: query.sort!.startsWith('-'), withPeople };
    const sorted = sortedScores(workspaceId, experimentId, condition, sorting);
    const isPlain = own.length === 0 && !withPeople && !isFiltered(others);
    const scored = {
      ...(isPlain && { name: 'result.by-score' }),
      ...scanOf(scope, { ...others, scanned: [...others.unique, ...others.indexed, ...others.scanned] }),
      from: sql`(
        SELECT r.*, s.score AS sort_score, s.result_id AS sort_id
        FROM (${sorted}) s CROSS JOIN LATERAL (
          SELECT * FROM results r
          WHERE r.result_id = s.result_id AND (r.workspace_id = ${workspaceId} AND r.experiment_id = ${experimentId}) IS TRUE
          LIMIT 1) r) t`,
      where: Where.acrossTenants(), // The subquery restricts the tenant.
      id: 'sort_id',
      sorts: { [name]: { expression: 'sort_score', type: 'float8' as const } },
      defaultSort: name,
      count: total,
    };
    const isUnscored = sql`NOT ${hasScore(workspaceId, 't', { scorer: sort.scorer, bounds: empty })}`;
    const unscored = {
      ...scanOf(scope, others, [isUnscored]),
      where: whereOf(scope, experimentId, others),
      sorts: { [name]: BY_CREATION.created_at },
      defaultSort: name,
    };
    // A result without the score never meets a condition on it.
    const ranges = own.length > 0 ? [scored] : [scored, unscored];
    return listPage<ResultRow>(on, ranges, { ...query, sort: withDirection(query, name) });
  }

  /** Reads the results with a duration in the order of an index over durations, and then those without. */
  private listByDuration(
    on: SqlExecutor,
    scope: Scope,
    experimentId: string,
    { conditions, query, total }: SortedList,
  ): Promise<RowPage<ResultRow>> {
    const { unique, indexed, scanned } = conditions;
    const scan = scanOf(scope, { ...conditions, scanned: [...unique, ...indexed, ...scanned] });
    const timed = {
      ...scan,
      where: whereOf(scope, experimentId, { unique: [], indexed: [sql`duration_ms IS NOT NULL`] }),
      sorts: { duration_ms: { expression: 'duration_ms', type: 'float8' as const } },
      defaultSort: 'duration_ms',
      count: total,
    };
    const untimed = {
      ...scan,
      where: whereOf(scope, experimentId, { unique: [], indexed: [sql`duration_ms IS NULL`] }),
      sorts: { duration_ms: BY_CREATION.created_at },
      defaultSort: 'duration_ms',
    };
    return listPage<ResultRow>(on, [timed, untimed], query);
  }
}

const isFiltered = (conditions: Conditions): boolean =>
  Object.values(conditions).some((some: readonly unknown[]) => some.length > 0);

/** Returns a read that runs on another connection meanwhile, and is then needed or not. */
function ahead<Result>(read: Promise<Result>): Promise<Result> {
  read.catch(() => undefined);
  return read;
}

const totalOf = async (page: Promise<RowPage<unknown>>): Promise<number | null> => (await page).page.total;

/** A list that is sorted by a value that some results do not have. */
interface SortedList {
  conditions: Conditions;
  query: ResultListQueryDto;
  total: () => Promise<number | null>;
}

const withDirection = ({ sort }: ResultListQueryDto, name: string): string =>
  sort?.startsWith('-') === true ? `-${name}` : name;

function conditionsOf(filters: ResultFiltersDto): Conditions {
  const { case_id, dataset_record_id, session_id, trace_id, tag, has_error } = filters;
  return {
    unique: case_id === undefined ? [] : [sql`case_id = ${case_id}`],
    indexed: [
      ...(dataset_record_id === undefined ? [] : [sql`dataset_record_id = ${dataset_record_id}`]),
      ...(session_id === undefined ? [] : [sql`session_id = ${session_id}`]),
      ...(trace_id === undefined ? [] : [sql`trace_id = ${trace_id}`]),
      ...(has_error === true ? [sql`error IS NOT NULL`] : []),
      ...createdWithin('result_id', 'created_at', filters),
    ],
    scanned: [
      ...(tag === undefined ? [] : [sql`tags @> ARRAY[${tag}::text]`]),
      ...(has_error === false ? [sql`error IS NULL`] : []),
    ],
    scores: readScoreFilters(filters.score),
  };
}

const whereOf = (
  { key }: Scope,
  experimentId: string,
  { unique, indexed }: Pick<Conditions, 'unique' | 'indexed'>,
): Where => {
  // The subquery makes the planner expect the average number of results per experiment. If it expected none, another index
  // could seem as good as the index on cases, and all results of the experiment would be read.
  const experiment = unique.length > 0 ? sql`(SELECT ${experimentId}::text)` : sql`${experimentId}`;
  const where = new Where(key).add(sql`experiment_id = ${experiment}`);
  for (const condition of unique) where.addScattered(condition);
  for (const condition of indexed) where.addIndexed(condition, (condition) => condition);
  return where;
};

const boundsOf = (filters: readonly ScoreBounds[]): Sql =>
  filters
    .map(({ from, to }) => sql` AND score BETWEEN ${from}::float8 AND ${to}::float8`)
    .reduce((all, one) => sql`${all}${one}`, empty);

const lookupsOf = (workspaceId: string, filters: readonly ScoreBounds[]): Sql[] =>
  filters.map((filter) => hasScore(workspaceId, 't', { scorer: filter.scorer, bounds: boundsOf([filter]) }));

/** Returns the parts of a list that check the conditions without an index. */
function scanOf({ workspaceId }: Scope, { scanned, scores }: Conditions, further: Sql[] = []) {
  const lookups = [...lookupsOf(workspaceId, scores), ...further];
  return {
    ...columnsOf(workspaceId),
    from: 'results t',
    id: 'result_id',
    scan: {
      ...(scanned.length > 0 && { condition: join(scanned, ' AND ') }),
      ...(lookups.length > 0 && { lookup: join(lookups, ' AND '), cost: raw(String(lookups.length)) }),
    },
  } satisfies Partial<ListSpec>;
}
