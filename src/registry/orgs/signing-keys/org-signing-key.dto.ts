import { ApiProperty } from '@nestjs/swagger';
import { IsOptional } from 'class-validator';
import { ReadOnlyMembersOf, viewOf } from '#platform/http';
import { OrderedListQueryDto, PageOf } from '#platform/paging';
import { IsFilter, IsName, StampsDto } from '../../../resources';
import type { OrgSigningKeyEntity } from './org-signing-key.entity';

@ReadOnlyMembersOf(() => SigningKeyDto)
export class CreateSigningKeyDto {
  /** The purpose of the key. */
  @IsOptional()
  @IsName()
  name?: string | null;
}

export class SigningKeyListQueryDto extends OrderedListQueryDto {
  /** Only keys with this name. */
  @IsFilter()
  name?: string;
}

/** A signing key of the organization. The private key is never shown. */
export class SigningKeyDto extends StampsDto {
  /** The key id in signatures and in `/.well-known/jwks.json`. */
  kid!: string;
  org_id!: string;
  name!: string | null;
  @ApiProperty({ enum: ['EdDSA'] })
  algorithm!: 'EdDSA';
  /** The public key (Ed25519): the member `x` of its JWK (RFC 8037). */
  public_key!: string;
  /** Whether the organization signs with this key. It signs with the newest key that is not revoked. */
  is_current!: boolean;
  revoked_at!: Date | null;
  /** Always null, because keys are revoked, not archived. See `revoked_at`. */
  declare archived_at: Date | null;
}

export class SigningKeyPageDto extends PageOf(SigningKeyDto) {}

/** @param currentKid the key that signs, or null */
export const toSigningKeyDto = viewOf(
  SigningKeyDto,
  (row: OrgSigningKeyEntity, currentKid: string | null) => ({
    algorithm: 'EdDSA' as const,
    public_key: row.x,
    is_current: row.kid === currentKid,
    archived_at: null,
  }),
);
