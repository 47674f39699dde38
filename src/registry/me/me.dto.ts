import { ApiProperty } from '@nestjs/swagger';
import { type AccountStatus, type PrincipalType, type Role, ROLES } from '#platform/auth';
import { STATUSES } from '../../resources';
import { KeyAllowDto } from '../service-accounts/key-allow.dto';

/** The principal who makes the request. */
export class MePrincipalDto {
  /** `user_id`, `service_account_id`, or the subject of a platform principal. */
  principal_id!: string;
  @ApiProperty({ enum: ['user', 'service_account', 'platform'] })
  principal_type!: PrincipalType;
  /** The display name of a person, or the name of a service account. */
  name!: string | null;
}

/** The caller's organization. */
export class MeOrgDto {
  org_id!: string;
  name!: string;
  @ApiProperty({ enum: STATUSES })
  status!: AccountStatus;
}

/** A workspace that the caller can access, and their roles in it. */
export class MeWorkspaceDto {
  workspace_id!: string;
  name!: string;
  @ApiProperty({ enum: ROLES, isArray: true })
  roles!: Role[];
}

/** The credential of the request: an API key, or a token and its issuer. */
export class MeCredentialDto {
  @ApiProperty({ enum: ['token', 'api_key'] })
  kind!: 'token' | 'api_key';
  issuer!: string | null;
  /** The id of the token. Use it to revoke the token. */
  jti!: string | null;
  key_id!: string | null;
  expires_at!: Date | null;
}

/** The caller. */
export class MeDto {
  principal!: MePrincipalDto;
  /** Null for platform principals. */
  @ApiProperty({ type: MeOrgDto, nullable: true })
  organization!: MeOrgDto | null;
  /** Roles in the organization, without roles that another role implies. */
  @ApiProperty({ enum: ROLES, isArray: true })
  roles!: Role[];
  /** Workspaces that are not archived, by name, at most 500. `GET /registry/v1/workspaces` lists all. */
  workspaces!: MeWorkspaceDto[];
  credential!: MeCredentialDto;
  /** What the API key allows, or the key that the token was exchanged for. Null for no limits other than the roles. */
  @ApiProperty({ type: KeyAllowDto, nullable: true })
  allow!: KeyAllowDto | null;
}
