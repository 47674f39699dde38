import type { Scope } from '#platform/auth';
import { type Sql, sql, type SqlExecutor } from '#platform/db';
import type { RowPage } from '#platform/paging';
import { equals, RecordListRepository, type RecordTable } from '../records/record-list.repository';
import type { MetricListQueryDto, MetricPointDto } from './metric.dto';

const TABLE: RecordTable = {
  name: 'metric_points',
  time: 'measured_at',
  number: 'point_no',
  columns: `t.name, t.description, t.unit, t.type, t.temporality, t.is_monotonic, t.measured_at, t.started_at,
    t.service_name, t.value, t.attributes, coalesce(t.exemplars, '[]') AS exemplars,
    coalesce(t.metadata, '{}') AS metadata, t.flags`,
};

/** The index contains the first 255 characters of a name. */
const isNamed = (name: string): Sql => sql`left(t.name, 255) = ${name} AND t.name = ${name}`;

/** Lists data points by their times. */
export class MetricListRepository extends RecordListRepository<MetricPointDto> {
  constructor(database: SqlExecutor) {
    super(database, TABLE);
  }

  list(scope: Scope, query: MetricListQueryDto): Promise<RowPage<MetricPointDto>> {
    const { name, service_name, type } = query;
    const [indexed, ...columns] = [
      ...(name === undefined ? [] : [isNamed(name)]),
      ...(service_name === undefined ? [] : [equals('service_name', service_name)]),
    ];
    if (type !== undefined) columns.push(equals('type', type));
    return this.listBy(scope, query, { indexed, columns, content: [] });
  }
}
