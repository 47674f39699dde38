import { applyDecorators, type Type } from '@nestjs/common';
import { ApiCreatedResponse, ApiOkResponse, ApiProperty } from '@nestjs/swagger';
import { IsBoolean, IsOptional } from 'class-validator';
import { ToBoolean } from '#platform/paging';
import { IsJsonObject, IsOneOf, METADATA_MAX_BYTES, NotNull } from '#platform/http';
import { Throws } from '#platform/problem';
import { IsDescription } from './fields';
import { StampsDto } from './view.dto';

/** The members of every resource of an organization. */
export class OrgResourceDto extends StampsDto {
  org_id!: string;
  /** Incremented by every change. The ETag contains it. */
  @ApiProperty({ type: 'integer', format: 'int32', minimum: 1 })
  generation!: number;
}

/** The members of every resource in a workspace. */
export class PlacedDto extends OrgResourceDto {
  workspace_id!: string;
}

/** The query of every DELETE. */
export class DeletionQueryDto {
  /** Deletes the resource even if something refers to it. The references stay, marked with `erased`. */
  @IsOptional()
  @IsBoolean()
  @ToBoolean()
  force?: boolean;
}

export const ON_CONFLICT = ['error', 'return', 'update'] as const;
export type OnConflict = (typeof ON_CONFLICT)[number];

/** The query of a POST that creates a resource with a unique name. */
export class CreationQueryDto {
  /**
   * What to do if the name is taken. `error` returns 409, `return` returns the existing resource as it is, and `update` changes
   * it as a PATCH with this body would (both 200).
   */
  @NotNull()
  @IsOneOf(ON_CONFLICT, { required: false, default: 'error' })
  on_conflict?: OnConflict;
}

/** Describes the responses of a POST that takes `on_conflict`. */
export const CreatesNamed = (view: Type<unknown>): MethodDecorator =>
  applyDecorators(
    ApiCreatedResponse({ type: view }),
    ApiOkResponse({ type: view, description: 'The existing resource with this name, see `on_conflict`.' }),
    Throws('conflict', 'immutable_field', 'validation_failed'),
  );

/** The free-form member of every create. */
export class MetadataBodyDto {
  @IsOptional()
  @IsJsonObject({ maxBytes: METADATA_MAX_BYTES, description: 'Free-form, at most 16 KiB as JSON.' })
  metadata?: object | null;
}

/** The free-form members of the create of a resource that has a description. */
export class DescribedBodyDto extends MetadataBodyDto {
  @IsOptional()
  @IsDescription()
  description?: string | null;
}

/** The free-form member of every PATCH. */
export class MetadataPatchDto {
  @IsOptional()
  @IsJsonObject({ nullable: true, description: 'Merged into the current metadata. Null clears it.' })
  metadata?: object | null;
}

/** The free-form members of the PATCH of a resource that has a description. */
export class DescribedPatchDto extends MetadataPatchDto {
  @IsOptional()
  @IsDescription()
  description?: string | null;
}
