import { IntersectionType } from '@nestjs/swagger';
import { IsBoolean, IsOptional } from 'class-validator';
import { instantOf, IsNullableText, IsOneOf, IsOptionalTime, NotBelow } from '#platform/http';
import { PageQueryDto, ToBoolean } from '#platform/paging';
import { AreScoreFilters, IsScoreSort } from '../../../telemetry';
import { EXPORT_FORMATS, type ExportFormatName } from '../../datasets';
import { CASE_ID_MAX } from './result.dto';

/** Members of a result that lists can be sorted by. */
export const RESULT_SORTS = ['created_at', 'updated_at', 'duration_ms'] as const;

/** Filters of lists and exports. */
export class ResultFiltersDto {
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
  @AreScoreFilters()
  score?: string[];

  /** Only results created at or after this time (RFC 3339). */
  @IsOptionalTime()
  since?: string;

  /** Only results created before this time (RFC 3339). */
  @IsOptionalTime()
  @NotBelow('since', instantOf)
  until?: string;
}

export class ResultListQueryDto extends IntersectionType(PageQueryDto, ResultFiltersDto) {
  /**
   * `created_at` (the default is `-created_at`), `updated_at`, `duration_ms` or `score:<scorer>`. Ascending; a leading `-`
   * sorts descending. Results without the duration or the score come last.
   */
  @IsScoreSort(RESULT_SORTS)
  sort?: string;

  /** Has no effect, because results cannot be archived. */
  @IsOptional()
  @IsBoolean()
  @ToBoolean()
  include_archived?: boolean;
}

/** The results to export, and their format. */
export class ResultExportQueryDto extends ResultFiltersDto {
  @IsOptional()
  @IsOneOf(EXPORT_FORMATS, { required: false, default: 'jsonl' })
  format?: ExportFormatName;
}
