import { createHash } from 'node:crypto';
import { ApiProperty, OmitType } from '@nestjs/swagger';
import { Transform } from 'class-transformer';
import { ArrayMaxSize, IsNumber, IsOptional, IsString, MaxLength, Min } from 'class-validator';
import { IsOneOf, NotBelow, NotNull, IsOptionalText } from '#platform/http';
import { SortedBy } from '#platform/paging';
import { problem } from '#platform/problem';
import { AttributePairs, TimedListQueryDto } from '../list-query.dto';
import { NAME_MAX } from '../span-mapping/field.parser';
import { SCORE_SOURCES, type ScoreCondition, type ScoreSource } from './trace-scores';
import { TRACE_STATUSES } from './trace-stats.types';

const TEXT_MAX = 200;

const SCORER_MAX = 255;
const SCORE_FILTERS_MAX = 10;
const SCORE_OPERATORS = ['gte', 'lte', 'eq'] as const;
const NUMBER = /^-?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i;

/** Members of a trace that lists can be sorted by. */
const TRACE_SORTS = ['started_at', 'duration_ms', 'cost_usd'] as const;

/** Converts a query parameter to a number. Leaves other values unchanged, so that validation rejects them. */
const ToNumber = () =>
  Transform(({ value }: { value: unknown }) =>
    typeof value === 'string' && /^\d{1,15}(\.\d{1,6})?$/.test(value) ? Number(value) : value,
  );

const numberOf = (value: unknown): number | null => (typeof value === 'number' ? value : null);

/** Query of a list that is sorted by start. */
@SortedBy('started_at')
export class StartedListQueryDto extends TimedListQueryDto {}

/** Query of a list of traces. Traces must meet all filters. Names are compared exactly. */
export class TraceListQueryDto extends OmitType(TimedListQueryDto, ['sort']) {
  /**
   * `started_at`, `duration_ms`, `cost_usd` or `score:<scorer>`, where `<scorer>` is the name of a scorer. A leading `-` sorts
   * in descending order. The default is `-started_at`. Traces without a cost come last; traces without a score are omitted.
   */
  @ApiProperty({
    type: 'string',
    pattern: '^-?(started_at|duration_ms|cost_usd|score:.+)$',
    required: false,
  })
  @IsOptional()
  @IsString()
  @MaxLength(SCORER_MAX + 10)
  sort?: string;

  /**
   * `<scorer>:<gte|lte|eq>:<number>`: the trace has a current score by the scorer that meets the condition. Repeatable: all
   * conditions must match.
   */
  @ApiProperty({ type: 'array', items: { type: 'string' }, maxItems: SCORE_FILTERS_MAX, required: false })
  @NotNull()
  @Transform(({ value }: { value: unknown }) => (typeof value === 'string' ? [value] : value))
  @ArrayMaxSize(SCORE_FILTERS_MAX)
  @IsString({ each: true })
  @MaxLength(SCORER_MAX + 64, { each: true })
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
  @ApiProperty({ type: 'number', minimum: 0, required: false })
  @NotNull()
  @IsNumber()
  @Min(0)
  @ToNumber()
  min_duration_ms?: number;

  /** Maximum duration in milliseconds. */
  @ApiProperty({ type: 'number', minimum: 0, required: false })
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

/** The sort of a list of traces. */
export type TraceSort =
  | { by: (typeof TRACE_SORTS)[number] }
  | {
      by: 'score';
      scorer: string;
      /** Identifies the sort in cursors, whose length is limited. */
      key: string;
    };

/** Reads the sort of a list. Errors: 422 for an unknown sort. */
export function readTraceSort(text = '-started_at'): TraceSort {
  const name = text.replace(/^-/, '');
  const by = TRACE_SORTS.find((one) => one === name);
  if (by) return { by };
  const scorer = name.startsWith('score:') ? name.slice('score:'.length) : '';
  if (scorer === '') {
    const detail = `must be one of ${[...TRACE_SORTS, 'score:<scorer>'].join(', ')}, with a leading - for descending order`;
    throw problem.validationFailed([{ parameter: 'sort', detail }]);
  }
  return {
    by: 'score',
    scorer,
    key: `score:${createHash('sha256').update(scorer).digest('hex').slice(0, 16)}`,
  };
}

/** Reads `score` filters. Errors: 400 `invalid_query` for a malformed filter; 422 for an unknown operator. */
export const readScoreConditions = ({
  score = [],
  score_source,
}: Pick<TraceListQueryDto, 'score' | 'score_source'>): ScoreCondition[] =>
  score.map((text) => {
    // split from the right, because the name of a scorer may contain colons
    const parts = text.split(':');
    const [operator, number] = [parts.at(-2), parts.at(-1)!];
    const scorer = parts.slice(0, -2).join(':');
    const value = NUMBER.test(number) ? Number(number) : NaN;
    if (operator === undefined || scorer === '' || scorer.length > SCORER_MAX || !Number.isFinite(value)) {
      throw problem.invalidQuery('score', 'must be of the form <scorer>:<gte|lte|eq>:<number>');
    }
    if (!(SCORE_OPERATORS as readonly string[]).includes(operator)) {
      const detail = `must have one of the operators ${SCORE_OPERATORS.join(', ')}`;
      throw problem.validationFailed([{ parameter: 'score', detail }]);
    }
    return {
      scorer,
      source: score_source ?? null,
      from: operator === 'lte' ? -Infinity : value,
      to: operator === 'gte' ? Infinity : value,
    };
  });
