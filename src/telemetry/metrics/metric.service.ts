import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import type { Page } from '#platform/paging';
import { TelemetryReading } from '../telemetry-reading';
import type { MetricPointDto } from './metric.dto';
import { MetricListRepository } from './metric-list.repository';
import { toMetricPointDto } from './metric.mapper';
import { type MetricListQueryDto, toMetricFilters } from './metric-query.dto';

const HINT = 'Narrow the times (since, until) or the filters.';

/** Metrics as they are read. Errors: 503 when they cannot be read, or not in time. */
@Injectable()
export class MetricService {
  constructor(private readonly reading: TelemetryReading) {}

  async list(scope: Scope, query: MetricListQueryDto, signal: AbortSignal): Promise<Page<MetricPointDto>> {
    const { rows, page } = await this.reading.read(
      scope,
      HINT,
      (on) => new MetricListRepository(on).list(scope, toMetricFilters(query), query),
      { what: 'metrics', signal },
    );
    return { items: rows.map(toMetricPointDto), page };
  }
}
