import { Body, Controller, Get, HttpCode, Param, Post, Query } from '@nestjs/common';
import { ApiBody, ApiCreatedResponse, ApiOkResponse, ApiTags } from '@nestjs/swagger';
import { CurrentScope, type OrgScope, RequireRole, RequireRoleEverywhere } from '#platform/auth';
import { created, type Reply, RequestBody } from '#platform/http';
import type { Page } from '#platform/paging';
import {
  CreateSigningKeyDto,
  SigningKeyDto,
  SigningKeyPageDto,
  SigningKeyListQueryDto,
} from './org-signing-key.dto';
import { OrgSigningService } from './org-signing.service';

@ApiTags('Accounts')
@Controller('registry/v1/org/signing-keys')
export class SigningKeyController {
  constructor(private readonly signing: OrgSigningService) {}

  /** Create a signing key, which the organization uses from then on */
  @Post()
  @RequireRoleEverywhere('admin')
  @RequestBody({ optional: true })
  @ApiBody({ type: CreateSigningKeyDto, required: false })
  @ApiCreatedResponse({ type: SigningKeyDto })
  async create(@CurrentScope() scope: OrgScope, @Body() dto: CreateSigningKeyDto): Promise<Reply> {
    const view = await this.signing.create(scope, dto);
    return created(`/registry/v1/org/signing-keys/${view.kid}`, view);
  }

  /** List the signing keys of the organization */
  @Get()
  @RequireRole('viewer')
  @ApiOkResponse({ type: SigningKeyPageDto })
  list(
    @CurrentScope() scope: OrgScope,
    @Query() query: SigningKeyListQueryDto,
  ): Promise<Page<SigningKeyDto>> {
    return this.signing.list(scope, query);
  }

  /** Get a signing key, without its private key */
  @Get(':kid')
  @RequireRole('viewer')
  @ApiOkResponse({ type: SigningKeyDto })
  get(@CurrentScope() scope: OrgScope, @Param('kid') kid: string): Promise<SigningKeyDto> {
    return this.signing.get(scope, kid);
  }

  /**
   * Revoke a signing key
   *
   * @remarks Signatures made with the key can no longer be verified.
   */
  @Post(':kid/revoke')
  @HttpCode(200)
  @RequireRoleEverywhere('admin')
  @ApiOkResponse({ type: SigningKeyDto })
  revoke(@CurrentScope() scope: OrgScope, @Param('kid') kid: string): Promise<SigningKeyDto> {
    return this.signing.revoke(scope, kid);
  }
}
