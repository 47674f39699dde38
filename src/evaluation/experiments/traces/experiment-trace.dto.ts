import type { PageMetaDto } from '#platform/paging';
import { toTraceFigures, TraceFiguresDto, type TraceSummary } from '../../../telemetry';
import type { TraceNaming } from './experiment-trace.repository';

/** A trace of an experiment: its figures, and the result that names it. */
export class ExperimentTraceDto extends TraceFiguresDto {
  /** The newest result of the experiment that carries the trace's id; null while no result does. */
  result_id!: string | null;
  case_id!: string | null;
}

export class ExperimentTracePageDto {
  items!: ExperimentTraceDto[];
  page!: PageMetaDto;
}

/** @param naming the result that carries the trace's id; null where no result does */
export const toExperimentTraceDto = (
  trace: TraceSummary,
  naming: TraceNaming | null,
): ExperimentTraceDto => ({
  ...toTraceFigures(trace),
  result_id: naming?.result_id ?? null,
  case_id: naming?.case_id ?? null,
});
