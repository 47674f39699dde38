import { Injectable } from '@nestjs/common';
import { type DecodedMetricsRequest, type OtlpMetric, REQUEST_DECODERS } from '#otlp';
import type { Scope } from '#platform/auth';
import type { Page } from '#platform/paging';
import { countRefused, type Refusable, Refusals, usersOf } from '../deletion/refusals';
import { ExportQueue, ExportResources } from '../exports/export-queue';
import { type ExportedRecords, ExportWriter } from '../exports/export.writer';
import { ReadLimiter } from '../read-limiter';
import { MetricListRepository } from './metric-list.repository';
import { MetricWriteRepository, type PointRow, toPointRows } from './metric-write.repository';
import type { MetricListQueryDto, MetricPointDto } from './metric.dto';

const HINT = 'Narrow the times (since, until) or the filters.';

/** Reads metrics. Errors: 503 if reading takes too long. */
@Injectable()
export class MetricService {
  constructor(private readonly limiter: ReadLimiter) {}

  async list(scope: Scope, query: MetricListQueryDto, signal: AbortSignal): Promise<Page<MetricPointDto>> {
    const { rows, page } = await this.limiter.read(
      scope,
      HINT,
      (on) => new MetricListRepository(on).list(scope, query),
      { noun: 'metrics', signal },
    );
    return { items: rows, page };
  }
}

/** Returns the part of a metric that is stored with each of its points. */
const repeatedPart = ({ name, unit, description, metadata }: OtlpMetric): string =>
  JSON.stringify([name, unit, description, metadata]);

const toRefusable = ({ workspaceId, point, measuredAt }: PointRow): Refusable => ({
  workspaceId,
  traceId: null,
  userIds: [point, ...point.exemplars].flatMap(({ attributes }) => usersOf(attributes)),
  at: measuredAt,
});

/** Stores exports of metrics. */
@Injectable()
export class MetricExportService extends ExportQueue<DecodedMetricsRequest, ExportedRecords<PointRow>> {
  constructor(
    writer: ExportWriter,
    points: MetricWriteRepository,
    resources: ExportResources,
    refusals: Refusals,
  ) {
    super(resources, {
      signal: 'metrics',
      decoder: REQUEST_DECODERS.metrics,
      *mask(masker, { dataPoints }) {
        for (const point of dataPoints) {
          yield* masker.dataPoint(point);
          yield;
        }
      },
      *addRepeated(repeated, { dataPoints }) {
        yield* repeated.addSources(dataPoints.map(({ metric }) => metric));
        for (const { metric } of dataPoints) {
          repeated.add(metric, repeatedPart);
          yield;
        }
      },
      *prepare({ dataPoints }, { scope: { workspaceId }, body }) {
        return {
          workspaceId,
          body,
          isTimed: dataPoints.every((point) => point.timeUnixNano > 0n),
          rows: yield* toPointRows(workspaceId, dataPoints),
        };
      },
      store: async (exports) => {
        const refused = await writer.write(
          'metric_points',
          exports.map(({ ready }) => ready),
          {
            refuse: (tx, rows) => refusals.find(tx, rows, toRefusable),
            insert: (tx, rows) => points.insertMany(tx, rows),
          },
        );
        if (refused.size === 0) return undefined;
        return exports.map(({ ready }) => countRefused(ready.rows.map((row) => refused.get(row))));
      },
    });
  }
}
