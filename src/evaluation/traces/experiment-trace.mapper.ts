import { toTraceFigures, type TraceSummary } from '../../telemetry';
import type { ExperimentTraceDto } from './experiment-trace.dto';
import type { TraceNaming } from './experiment-trace.repository';

/** @param naming the result that carries the trace's id; null where none does. */
export const toExperimentTraceDto = (
  trace: TraceSummary,
  naming: TraceNaming | null,
): ExperimentTraceDto => ({
  ...toTraceFigures(trace),
  result_id: naming?.result_id ?? null,
  case_id: naming?.case_id ?? null,
});
