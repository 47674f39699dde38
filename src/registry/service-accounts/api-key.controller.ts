import { Body, Controller, Delete, Get, HttpCode, Param, Post, Query } from '@nestjs/common';
import { ApiCreatedResponse, ApiNoContentResponse, ApiOkResponse, ApiTags } from '@nestjs/swagger';
import { Throws } from '#platform/problem';
import { CurrentScope, type OrgScope, RequireRole } from '#platform/auth';
import { NotRepeatable, Reply } from '#platform/http';
import type { Page } from '#platform/paging';
import { ApiKeyDto, ApiKeyListQueryDto, ApiKeyPageDto, CreateApiKeyDto, NewApiKeyDto } from './api-key.dto';
import { ApiKeyService } from './api-key.service';

@ApiTags('Service accounts')
@Controller('registry/v1/service-accounts/:service_account_id/keys')
export class ApiKeyController {
  constructor(private readonly keys: ApiKeyService) {}

  /** Create an API key, which is shown only once */
  @Post()
  @Throws('conflict')
  @NotRepeatable()
  @RequireRole('admin')
  @ApiCreatedResponse({ type: NewApiKeyDto })
  async create(
    @CurrentScope() scope: OrgScope,
    @Param('service_account_id') serviceAccountId: string,
    @Body() dto: CreateApiKeyDto,
  ): Promise<Reply> {
    const view = await this.keys.create(scope, serviceAccountId, dto);
    const location = `/registry/v1/service-accounts/${serviceAccountId}/keys/${view.key_id}`;
    return new Reply(201, view, { Location: location, 'Cache-Control': 'no-store' });
  }

  /** List the API keys of a service account */
  @Get()
  @RequireRole('viewer')
  @ApiOkResponse({ type: ApiKeyPageDto })
  list(
    @CurrentScope() scope: OrgScope,
    @Param('service_account_id') serviceAccountId: string,
    @Query() query: ApiKeyListQueryDto,
  ): Promise<Page<ApiKeyDto>> {
    return this.keys.list(scope, serviceAccountId, query);
  }

  /** Get an API key, without the key itself */
  @Get(':key_id')
  @RequireRole('viewer')
  @ApiOkResponse({ type: ApiKeyDto })
  get(
    @CurrentScope() scope: OrgScope,
    @Param('service_account_id') serviceAccountId: string,
    @Param('key_id') keyId: string,
  ): Promise<ApiKeyDto> {
    return this.keys.get(scope, serviceAccountId, keyId);
  }

  /** Revoke an API key and the tokens it was exchanged for */
  @Post(':key_id/revoke')
  @HttpCode(200)
  @RequireRole('admin')
  @ApiOkResponse({ type: ApiKeyDto })
  revoke(
    @CurrentScope() scope: OrgScope,
    @Param('service_account_id') serviceAccountId: string,
    @Param('key_id') keyId: string,
  ): Promise<ApiKeyDto> {
    return this.keys.revoke(scope, serviceAccountId, keyId);
  }

  /** Delete a revoked API key */
  @Delete(':key_id')
  @HttpCode(204)
  @Throws('conflict')
  @RequireRole('admin')
  @ApiNoContentResponse()
  delete(
    @CurrentScope() scope: OrgScope,
    @Param('service_account_id') serviceAccountId: string,
    @Param('key_id') keyId: string,
  ): Promise<void> {
    return this.keys.delete(scope, serviceAccountId, keyId);
  }
}
