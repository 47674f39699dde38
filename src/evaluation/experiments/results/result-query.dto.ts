import { createHash } from 'node:crypto';
import { ApiProperty, PickType } from '@nestjs/swagger';
import { Transform } from 'class-transformer';
import { ArrayMaxSize, IsBoolean, IsOptional, IsString, MaxLength } from 'class-validator';
import { IsOneOf, NotNull, IsNullableText } from '#platform/http';
import { PageQueryDto, ToBoolean } from '#platform/paging';
import { problem } from '#platform/problem';
import { EXPORT_FORMATS, type ExportFormatName } from '../../datasets';
import { CASE_ID_MAX } from './result.dto';

export const SCORE_OPERATORS = ['gte', 'lte', 'eq'] as const;
export type ScoreOperator = (typeof SCORE_OPERATORS)[number];

const SCORE_FILTERS_MAX = 10;
const SCORER_MAX = 255;
const NUMBER = /^-?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i;
const SCORE_FORM = '<scorer>:<gte|lte|eq>:<number>';

export class ResultListQueryDto extends PageQueryDto {
  /**
   * `created_at` (the default is `-created_at`), `updated_at`, `duration_ms` or `score:<scorer>`. Ascending; a leading `-`
   * sorts descending. Results without the duration or the score come last.
   */
  @ApiProperty({
    type: 'string',
    pattern: '^-?(created_at|updated_at|duration_ms|score:.+)$',
    required: false,
  })
  @IsOptional()
  @IsString()
  @MaxLength(SCORER_MAX + 10)
  sort?: string;

  /** Has no effect, because results cannot be archived. */
  @IsOptional()
  @IsBoolean()
  @ToBoolean()
  include_archived?: boolean;

  @IsNullableText(CASE_ID_MAX, 0)
  case_id?: string;

  @IsNullableText()
  dataset_record_id?: string;

  @IsNullableText(255, 0)
  session_id?: string;

  @IsNullableText(255, 0)
  trace_id?: string;

  /** Results with this tag. */
  @IsNullableText(255)
  tag?: string;

  /** Whether the result has an `error`. */
  @IsOptional()
  @IsBoolean()
  @ToBoolean()
  has_error?: boolean;

  /** `<scorer>:<gte|lte|eq>:<number>`, on the numbers in `scores`. Repeatable; all must match. */
  @ApiProperty({ type: 'array', items: { type: 'string' }, maxItems: SCORE_FILTERS_MAX, required: false })
  @NotNull()
  @Transform(({ value }: { value: unknown }) => (typeof value === 'string' ? [value] : value))
  @ArrayMaxSize(SCORE_FILTERS_MAX)
  @IsString({ each: true })
  @MaxLength(SCORER_MAX + 64, { each: true })
  score?: string[];
}

/** The filters that lists and exports share. */
export const RESULT_FILTERS = [
  'case_id',
  'dataset_record_id',
  'session_id',
  'trace_id',
  'tag',
  'has_error',
  'score',
] as const;

/** Filters of lists and exports. */
export type ResultFilters = Pick<ResultListQueryDto, (typeof RESULT_FILTERS)[number]>;

/** The results to export, and their format. */
export class ResultExportQueryDto extends PickType(ResultListQueryDto, RESULT_FILTERS) {
  @IsOptional()
  @IsOneOf(EXPORT_FORMATS, { required: false, default: 'jsonl' })
  format?: ExportFormatName;
}

/** A condition on a score. */
export interface ScoreFilter {
  scorer: string;
  operator: ScoreOperator;
  value: number;
}

/** Parses `score` filters. Errors: 400 `invalid_query` for a malformed filter, 422 for an unknown operator. */
export const readScoreFilters = (texts: readonly string[] = []): ScoreFilter[] => texts.map(readScoreFilter);

function readScoreFilter(text: string): ScoreFilter {
  // Parsed from the right, because the name of a scorer may contain colons.
  const parts = text.split(':');
  const [operator, number] = [parts.at(-2), parts.at(-1)!];
  const scorer = parts.slice(0, -2).join(':');
  const value = NUMBER.test(number) ? Number(number) : NaN;
  if (operator === undefined || scorer === '' || scorer.length > SCORER_MAX || !Number.isFinite(value)) {
    throw problem.invalidQuery('score', `must be of the form ${SCORE_FORM}`);
  }
  if (!isOperator(operator)) {
    const detail = `must have one of the operators ${SCORE_OPERATORS.join(', ')}`;
    throw problem.validationFailed([{ parameter: 'score', detail }]);
  }
  return { scorer, operator, value };
}

const isOperator = (text: string): text is ScoreOperator =>
  (SCORE_OPERATORS as readonly string[]).includes(text);

/** The sort order of a list, without its direction. */
export type ResultSort =
  | { by: 'created_at' | 'updated_at' | 'duration_ms' }
  | {
      by: 'score';
      scorer: string;
      /** Names the sort in cursors, whose length is limited. */
      key: string;
    };

const PLAIN_SORTS = ['created_at', 'updated_at', 'duration_ms'] as const;

/** Parses the sort order of a list. Errors: 422 for an unknown one. */
export function readSort(text = '-created_at'): ResultSort {
  const name = text.replace(/^-/, '');
  const by = PLAIN_SORTS.find((one) => one === name);
  if (by) return { by };
  const scorer = name.startsWith('score:') ? name.slice('score:'.length) : '';
  if (scorer === '') {
    const detail = `must be one of ${[...PLAIN_SORTS, 'score:<scorer>'].join(', ')}, with a leading - for descending order`;
    throw problem.validationFailed([{ parameter: 'sort', detail }]);
  }
  return {
    by: 'score',
    scorer,
    key: `score:${createHash('sha256').update(scorer).digest('hex').slice(0, 16)}`,
  };
}
