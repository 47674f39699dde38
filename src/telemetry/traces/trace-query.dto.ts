import { OmitType } from '@nestjs/swagger';
import { IsBoolean, IsNumber, IsOptional, Min } from 'class-validator';
import { IsOneOf, NotBelow, NotNull, IsOptionalText } from '#platform/http';
import { SortedBy, ToBoolean, ToNumber } from '#platform/paging';
import { AttributePairs, TimedListQueryDto } from '../list-query.dto';
import { NAME_MAX } from '../span-mapping/field.parser';
import { AreScoreFilters, IsScoreSort } from './score-query';
import { SCORE_SOURCES, type ScoreSource } from './trace-scores';
import { TRACE_STATUSES } from './trace-stats.types';

const TEXT_MAX = 200;

/** Members of a trace that lists can be sorted by. */
export const TRACE_SORTS = ['started_at', 'duration_ms', 'cost_usd'] as const;

const numberOf = (value: unknown): number | null => (typeof value === 'number' ? value : null);

/** Filters by the labels of a trace, compared exactly. */
export interface LabelFilters {
  user_id?: string;
  environment?: string;
  tag?: string;
  prompt_name?: string;
  prompt_version?: string;
}

/** Query of a list that is sorted by time and filtered by labels. */
export class LabelledListQueryDto extends TimedListQueryDto implements LabelFilters {
  @IsOptionalText(NAME_MAX)
  user_id?: string;

  /** `deployment.environment.name` of the resource. */
  @IsOptionalText(NAME_MAX)
  environment?: string;

  /** One of the tags of the trace. */
  @IsOptionalText(NAME_MAX)
  tag?: string;

  @IsOptionalText(NAME_MAX)
  prompt_name?: string;

  @IsOptionalText(NAME_MAX)
  prompt_version?: string;
}

/** Query of the traces of a session. */
@SortedBy('started_at')
export class SessionTraceListQueryDto extends LabelledListQueryDto {}

/** Query of the deletion of a trace. */
export class DeleteTraceQueryDto {
  /** Deletes the trace even if an open scoring run, batch or annotation queue uses it. Its target then fails. */
  @IsOptional()
  @IsBoolean()
  @ToBoolean()
  force?: boolean;
}

/** Query of a list of traces. Traces must meet all filters. Names are compared exactly. */
export class TraceListQueryDto extends OmitType(LabelledListQueryDto, ['sort']) {
  /**
   * `started_at`, `duration_ms`, `cost_usd` or `score:<scorer>`, where `<scorer>` is the name of a scorer. A leading `-` sorts
   * in descending order. The default is `-started_at`. Traces without a cost come last; traces without a score are omitted.
   */
  @IsScoreSort(TRACE_SORTS)
  sort?: string;

  /**
   * `<scorer>:<gte|lte|eq>:<number>`: the trace has a current score by the scorer that meets the condition. Repeatable: all
   * conditions must match.
   */
  @AreScoreFilters()
  score?: string[];

  @IsOptionalText(NAME_MAX)
  session_id?: string;

  @IsOptionalText(NAME_MAX)
  service_name?: string;

  @IsOptionalText(NAME_MAX)
  root_name?: string;

  /** `gen_ai.agent.version` of an agent's span, else `service.version`. */
  @IsOptionalText(NAME_MAX)
  agent_version?: string;

  /** Model of at least one span. */
  @IsOptionalText(NAME_MAX)
  model?: string;

  @NotNull()
  @IsOneOf(TRACE_STATUSES, { required: false, description: '`error`: at least one span has an error.' })
  status?: (typeof TRACE_STATUSES)[number];

  /** Minimum duration in milliseconds. */
  @NotNull()
  @IsNumber()
  @Min(0)
  @ToNumber()
  min_duration_ms?: number;

  /** Maximum duration in milliseconds. */
  @NotNull()
  @IsNumber()
  @Min(0)
  @NotBelow('min_duration_ms', numberOf)
  @ToNumber()
  max_duration_ms?: number;

  /**
   * `key:value` of an attribute of a span or of its resource. The key ends at the first colon. Strings are compared verbatim,
   * other values as JSON (`llm.is_streaming:true`). Repeatable: for each pair, at least one span must match.
   */
  @AttributePairs()
  attribute?: string[];

  /**
   * Only scores from this source count for `score` and for a sort by a score. `hosted` means scores of the service's own runs.
   * Allowed only with `score` or a sort by a score.
   */
  @NotNull()
  @IsOneOf(SCORE_SOURCES, { required: false })
  score_source?: ScoreSource;

  /** Text that the name of a span, or the input or output of the root span, must contain. Case-insensitive. */
  @IsOptionalText(TEXT_MAX)
  q?: string;
}
