import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { problem } from '#platform/problem';
import { TraceStore } from '../../../telemetry';
import { ExperimentRepository } from '../experiments/experiment.repository';
import { ExperimentTraceRepository, TRACE_LABELS } from './experiment-trace.repository';
import type { TraceStatsDto, TraceStatsQueryDto } from './trace-stats.dto';
import { checkStatsValues, readStatsQuery } from './trace-stats.query';

/** Figures over the traces of an experiment. */
@Injectable()
export class TraceStatsService {
  constructor(
    private readonly experiments: ExperimentRepository,
    private readonly namings: ExperimentTraceRepository,
    private readonly store: TraceStore,
  ) {}

  /**
   * Figures over the traces that the experiment's results name and that have arrived, each once.
   * Errors: 400 for a query that contradicts itself, 404 without the experiment, 422 for names that are not known, 503
   * when traces cannot be read.
   */
  async query(
    scope: Scope,
    experimentId: string,
    dto: TraceStatsQueryDto,
    signal: AbortSignal,
  ): Promise<TraceStatsDto> {
    const query = readStatsQuery(dto);
    if (!(await this.experiments.exists(scope, experimentId))) {
      throw problem.notFound('experiment', experimentId);
    }
    checkStatsValues(dto);
    const fields = new Set([...query.groupBy, ...query.filters.map(({ field }) => field)]);
    const labels = TRACE_LABELS.filter((label) => fields.has(label));
    const among = { labels, traces: await this.namings.labelled(scope, experimentId, labels) };
    const { rows, isTruncated, tracesFound } = await this.store
      .withSignal(signal)
      .stats(scope, { ...query, among });
    // after the traces, so that there are never more of them than results that name one
    const { results, with_trace } = await this.namings.coverage(scope, experimentId);
    return {
      rows,
      coverage: { results, with_trace, traces_found: tracesFound },
      is_truncated: isTruncated,
    };
  }
}
