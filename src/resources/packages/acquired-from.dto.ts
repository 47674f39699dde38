import { ApiProperty } from '@nestjs/swagger';

/** The origin of a copy of a published resource. The store sets it. */
export class AcquiredFromDto {
  store_item_id!: string;
  /** The release from which the copy was last installed or upgraded. */
  release_id!: string;
  /** The publisher's resource. */
  artifact_id!: string;
  /** The version of the publisher's resource that the release contains. */
  version_id!: string;
  @ApiProperty({ type: 'integer', format: 'int64', minimum: 1 })
  version_ordinal!: number;
}
