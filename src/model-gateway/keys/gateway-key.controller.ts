import { Body, Controller, Get, HttpCode, Param, Patch, Post, Query } from '@nestjs/common';
import { ApiCreatedResponse, ApiOkResponse, ApiTags } from '@nestjs/swagger';
import { Throws } from '#platform/problem';
import {
  AllowedBy,
  CurrentScope,
  type OrgScope,
  RequireRoleInAnyWorkspace,
  RequireRoleSomewhere,
} from '#platform/auth';
import { etagOf, IfMatch, NotRepeatable, Reply, type Versioned } from '#platform/http';
import type { Page } from '#platform/paging';
import { DeleteRoute } from '../../resources';
import {
  CreateGatewayKeyDto,
  CurrentGatewayKeyDto,
  GatewayKeyDto,
  GatewayKeyListQueryDto,
  GatewayKeyPageDto,
  NewGatewayKeyDto,
  PatchGatewayKeyDto,
} from './gateway-key.dto';
import { GatewayKeyService } from './gateway-key.service';

@ApiTags('Model gateway')
@Controller('model/v1/keys')
export class GatewayKeyController {
  constructor(private readonly keys: GatewayKeyService) {}

  /**
   * Create a gateway key
   *
   * @remarks Also creates a service account for the key. The key is shown only once.
   */
  @Post()
  @Throws('conflict')
  @NotRepeatable()
  @RequireRoleSomewhere('admin')
  @ApiCreatedResponse({ type: NewGatewayKeyDto })
  async create(@CurrentScope() scope: OrgScope, @Body() dto: CreateGatewayKeyDto): Promise<Reply> {
    const { view, version } = await this.keys.create(scope, dto);
    const location = `/model/v1/keys/${view.key_id}`;
    const headers = { Location: location, ETag: etagOf(version), 'Cache-Control': 'no-store' };
    return new Reply(201, view, headers);
  }

  /** List gateway keys, including revoked ones */
  @Get()
  @RequireRoleSomewhere('viewer')
  @ApiOkResponse({ type: GatewayKeyPageDto })
  list(
    @CurrentScope() scope: OrgScope,
    @Query() query: GatewayKeyListQueryDto,
  ): Promise<Page<GatewayKeyDto>> {
    return this.keys.list(scope, query);
  }

  /**
   * Get the caller's gateway key, and the amount spent this month
   *
   * @remarks Returns 404 if you do not call with a gateway key.
   */
  @Get('current')
  @AllowedBy('read', 'models')
  @RequireRoleInAnyWorkspace('viewer', 'runtime')
  @ApiOkResponse({ type: CurrentGatewayKeyDto })
  getCurrent(@CurrentScope() scope: OrgScope): Promise<CurrentGatewayKeyDto> {
    return this.keys.getCurrent(scope);
  }

  /** Get a gateway key, without the key itself */
  @Get(':key_id')
  @RequireRoleSomewhere('viewer')
  @ApiOkResponse({ type: GatewayKeyDto })
  get(@CurrentScope() scope: OrgScope, @Param('key_id') keyId: string): Promise<Versioned<GatewayKeyDto>> {
    return this.keys.get(scope, keyId);
  }

  /** Change the name or the limits of a gateway key */
  @Patch(':key_id')
  @RequireRoleSomewhere('admin')
  @ApiOkResponse({ type: GatewayKeyDto })
  patch(
    @CurrentScope() scope: OrgScope,
    @Param('key_id') keyId: string,
    @Body() dto: PatchGatewayKeyDto,
    @IfMatch() ifMatch?: string,
  ): Promise<Versioned<GatewayKeyDto>> {
    return this.keys.patch(scope, keyId, dto, ifMatch);
  }

  /** Revoke a gateway key and archive its service account */
  @Post(':key_id/revoke')
  @HttpCode(200)
  @RequireRoleSomewhere('admin')
  @ApiOkResponse({ type: GatewayKeyDto })
  revoke(@CurrentScope() scope: OrgScope, @Param('key_id') keyId: string): Promise<GatewayKeyDto> {
    return this.keys.revoke(scope, keyId);
  }

  /** Delete a revoked gateway key and its service account */
  @DeleteRoute(':key_id')
  delete(
    @CurrentScope() scope: OrgScope,
    @Param('key_id') keyId: string,
    @IfMatch() ifMatch?: string,
  ): Promise<void> {
    return this.keys.delete(scope, keyId, ifMatch);
  }
}
