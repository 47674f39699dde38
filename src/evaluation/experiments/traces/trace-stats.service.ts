import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { orNotFound } from '#platform/problem';
import { checkStatsValues, readStatsQuery, TraceStore } from '../../../telemetry';
import { ExperimentRepository } from '../experiments/experiment.repository';
import { ExperimentTraceRepository, TRACE_LABELS } from './experiment-trace.repository';
import { STATS_FIELDS, type TraceStatsDto, type TraceStatsQueryDto } from './trace-stats.dto';

/** Computes statistics of the traces of experiments. */
@Injectable()
export class TraceStatsService {
  constructor(
    private readonly experiments: ExperimentRepository,
    private readonly references: ExperimentTraceRepository,
    private readonly store: TraceStore,
  ) {}

  /**
   * Returns statistics of the traces that the experiment's results reference and that have arrived, each counted once.
   * Errors: 400 for a query that contradicts itself, 404 for an unknown experiment, 422 for unknown names, 503 when traces
   * cannot be read.
   */
  async query(
    scope: Scope,
    experimentId: string,
    dto: TraceStatsQueryDto,
    signal: AbortSignal,
  ): Promise<TraceStatsDto> {
    const query = readStatsQuery(dto, STATS_FIELDS);
    orNotFound(await this.experiments.exists(scope, experimentId), 'experiment', experimentId);
    checkStatsValues(dto);
    const fields = new Set([...query.groupBy, ...query.filters.map(({ field }) => field)]);
    const labels = TRACE_LABELS.filter((label) => fields.has(label));
    const among = { labels, traces: await this.references.readLabels(scope, experimentId, labels) };
    const { rows, isTruncated, tracesFound } = await this.store
      .withSignal(signal)
      .stats(scope, { ...query, among });
    // Read after the traces, so that there are never fewer referencing results than traces.
    const { results, with_trace } = await this.references.coverage(scope, experimentId);
    return {
      rows,
      coverage: { results, with_trace, traces_found: tracesFound ?? 0 },
      is_truncated: isTruncated,
    };
  }
}
