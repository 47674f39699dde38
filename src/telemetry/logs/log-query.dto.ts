import { IsString, Length, Matches } from 'class-validator';
import { SEVERITIES } from '#otlp';
import { IsOneOf, NotNull } from '#platform/http';
import { SortedBy } from '#platform/paging';
import { attributesOf, RecordListQueryDto } from '../lists/record-query.dto';
import { toTimes } from '../lists/timed-query.dto';
import type { LogListFilters } from './log-list.repository';

const TEXT_MAX = 200;

/** Names of severities but that of none, and their numbers. */
const NAMES = SEVERITIES.slice(1);
const NUMBERS = NAMES.map((_, index) => String(index + 1));

/** Which log records to list. */
@SortedBy('logged_at')
export class LogListQueryDto extends RecordListQueryDto {
  /** Those of this trace: 32 lower-case hexadecimal digits. */
  @NotNull()
  @Matches(/^[0-9a-f]{32}$/, { message: 'must be 32 lower-case hexadecimal digits' })
  trace_id?: string;

  @NotNull()
  @IsOneOf([...NAMES, ...NUMBERS], {
    required: false,
    description: 'The least severity, by its short name or its number in OpenTelemetry.',
  })
  severity?: string;

  /** Occurs in the body, in one piece. Upper and lower case are the same. */
  @NotNull()
  @IsString()
  @Length(1, TEXT_MAX)
  q?: string;
}

export const toLogFilters = (query: LogListQueryDto): LogListFilters => ({
  ...toTimes(query),
  service_name: query.service_name,
  trace_id: query.trace_id,
  severity_number: query.severity === undefined ? undefined : severityNumberOf(query.severity),
  q: query.q,
  attributes: attributesOf(query),
});

const severityNumberOf = (severity: string): number =>
  NUMBERS.includes(severity) ? Number(severity) : NAMES.indexOf(severity) + 1;
