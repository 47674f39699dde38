import type { Scope } from '#platform/auth';
import type { SqlExecutor } from '#platform/db';
import type { RawJson } from '#platform/json';
import type { ListQueryDto, RowPage } from '#platform/paging';
import {
  type Condition,
  equals,
  RecordListRepository,
  type RecordTable,
} from '../lists/record-list.repository';
import type { TimeBounds } from '../trace-list';
import type { SourceParts } from '../sources/source-read.repository';

/** A data point as it is listed. */
export interface MetricPointRow extends SourceParts {
  name: string;
  description: string | null;
  unit: string | null;
  type: string;
  temporality: string | null;
  is_monotonic: boolean | null;
  measured_at: Date;
  started_at: Date | null;
  service_name: string | null;
  value: RawJson | null;
  attributes: RawJson;
  exemplars: RawJson;
  metadata: RawJson;
  flags: number;
}

/** Which data points to list. All that is given holds. */
export interface MetricListFilters extends TimeBounds {
  /** At most 255 characters. */
  name?: string;
  service_name?: string;
  type?: string;
  attributes: Condition[];
}

const TABLE: RecordTable = {
  name: 'metric_points',
  time: 'measured_at',
  number: 'point_no',
  columns: `t.name, t.description, t.unit, t.type, t.temporality, t.is_monotonic, t.measured_at, t.started_at,
    t.service_name, t.value, t.attributes, coalesce(t.exemplars, '[]') AS exemplars,
    coalesce(t.metadata, '{}') AS metadata, t.flags`,
};

/** Names may be longer than an index has room for. */
const isNamed =
  (name: string): Condition =>
  (where) => {
    const value = where.parameter(name);
    return `left(t.name, 255) = ${value} AND t.name = ${value}`;
  };

/** Lists of data points, by their times. */
export class MetricListRepository {
  private readonly records: RecordListRepository<MetricPointRow>;

  constructor(database: SqlExecutor) {
    this.records = new RecordListRepository(database, TABLE);
  }

  list(scope: Scope, filters: MetricListFilters, query: ListQueryDto): Promise<RowPage<MetricPointRow>> {
    const { name, service_name, type, attributes, since_us, until_us } = filters;
    const indexed = [
      ...(name === undefined ? [] : [isNamed(name)]),
      ...(service_name === undefined ? [] : [equals('service_name', service_name)]),
    ];
    const [narrow, ...conditions] = indexed;
    if (type !== undefined) conditions.push(equals('type', type));
    const selection = { since_us, until_us, narrow, conditions, lookups: attributes };
    return this.records.list(scope, selection, query);
  }
}
