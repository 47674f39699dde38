import { IsOptionalText } from '#platform/http';
import { ListQueryDto, PageOf } from '#platform/paging';
import { BaseTraceDto, type LabelFilters, toBaseTraceDto, type TraceSummary } from '../../../telemetry';
import type { TraceReference } from './experiment-trace.repository';

/** Maximum length of a label of a trace. */
const LABEL_MAX = 255;

/** A trace of an experiment: its totals, and the result that references it. */
export class ExperimentTraceDto extends BaseTraceDto {
  /** The newest result of the experiment that references the trace. Null while no result does. */
  result_id!: string | null;
  case_id!: string | null;
}

/** Query of an experiment's traces. Traces must meet all filters, which are compared exactly. */
export class ExperimentTraceListQueryDto extends ListQueryDto implements LabelFilters {
  @IsOptionalText(LABEL_MAX)
  user_id?: string;

  /** `deployment.environment.name` of the resource. */
  @IsOptionalText(LABEL_MAX)
  environment?: string;

  /** One of the tags of the trace. */
  @IsOptionalText(LABEL_MAX)
  tag?: string;

  @IsOptionalText(LABEL_MAX)
  prompt_name?: string;

  @IsOptionalText(LABEL_MAX)
  prompt_version?: string;
}

export class ExperimentTracePageDto extends PageOf(ExperimentTraceDto) {}

/** @param reference the result that references the trace, or null */
export const toExperimentTraceDto = (
  trace: TraceSummary,
  reference: TraceReference | null,
): ExperimentTraceDto => ({
  ...toBaseTraceDto(trace),
  result_id: reference?.result_id ?? null,
  case_id: reference?.case_id ?? null,
});
