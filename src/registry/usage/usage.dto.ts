import { ApiProperty } from '@nestjs/swagger';

const IsCount = (nullable = false): PropertyDecorator =>
  ApiProperty({ type: 'integer', format: 'int64', minimum: 0, ...(nullable && { nullable }) });

/** The bytes of files, packages and skills that the organization stores. */
export class ByteUsageDto {
  /** The bytes of distinct contents, because equal bytes are stored once. Archived resources count. */
  @IsCount()
  used!: number;
  /** `FILE_QUOTA_BYTES`. Null without a quota. */
  @IsCount(true)
  quota!: number | null;
}

/** The spans that the organization has sent today. */
export class SpanUsageDto {
  /** Up to a second old. Null without a quota, because spans are not counted then. */
  @IsCount(true)
  used!: number | null;
  /** `TELEMETRY_QUOTA_SPANS_PER_DAY`. Null without a quota. */
  @IsCount(true)
  quota!: number | null;
  /** The current day (UTC), such as `2026-03-01`. */
  @ApiProperty({ format: 'date' })
  day!: string;
  /** When the next day begins, and `used` is 0 again. */
  resets_at!: Date;
}

/** What the organization uses of its quotas. */
export class UsageDto {
  file_bytes!: ByteUsageDto;
  spans!: SpanUsageDto;
}
