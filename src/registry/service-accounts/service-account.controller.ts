import { Body, Controller, Get, Param, Patch, Post, Query } from '@nestjs/common';
import { ApiCreatedResponse, ApiOkResponse, ApiTags } from '@nestjs/swagger';
import { CurrentScope, type OrgScope, RequireRole } from '#platform/auth';
import { created, IfMatch, type Reply, type Versioned } from '#platform/http';
import type { Page } from '#platform/paging';
import { LifecycleController } from '../../resources';
import {
  CreateServiceAccountDto,
  PatchServiceAccountDto,
  ServiceAccountDto,
  ServiceAccountListQueryDto,
  ServiceAccountPageDto,
} from './service-account.dto';
import { ServiceAccountService } from './service-account.service';

@ApiTags('Service accounts')
@Controller('registry/v1/service-accounts')
export class ServiceAccountController extends LifecycleController({
  param: 'service_account_id',
  view: ServiceAccountDto,
  access: RequireRole('admin'),
  archive: { summary: 'Archive a service account, which disables its keys' },
  restore: { summary: 'Restore an archived service account and its keys, except revoked ones' },
  delete: { summary: 'Delete an archived service account', access: RequireRole('admin') },
}) {
  constructor(private readonly serviceAccounts: ServiceAccountService) {
    super(serviceAccounts);
  }

  /** Create a service account */
  @Post()
  @RequireRole('admin')
  @ApiCreatedResponse({ type: ServiceAccountDto })
  async create(@CurrentScope() scope: OrgScope, @Body() dto: CreateServiceAccountDto): Promise<Reply> {
    const serviceAccount = await this.serviceAccounts.create(scope, dto);
    return created(`/registry/v1/service-accounts/${serviceAccount.view.service_account_id}`, serviceAccount);
  }

  /** List service accounts */
  @Get()
  @RequireRole('viewer')
  @ApiOkResponse({ type: ServiceAccountPageDto })
  list(
    @CurrentScope() scope: OrgScope,
    @Query() query: ServiceAccountListQueryDto,
  ): Promise<Page<ServiceAccountDto>> {
    return this.serviceAccounts.list(scope, query);
  }

  /** Get a service account */
  @Get(':service_account_id')
  @RequireRole('viewer')
  @ApiOkResponse({ type: ServiceAccountDto })
  get(
    @CurrentScope() scope: OrgScope,
    @Param('service_account_id') id: string,
  ): Promise<Versioned<ServiceAccountDto>> {
    return this.serviceAccounts.get(scope, id);
  }

  /** Change, suspend or reinstate a service account */
  @Patch(':service_account_id')
  @RequireRole('admin')
  @ApiOkResponse({ type: ServiceAccountDto })
  patch(
    @CurrentScope() scope: OrgScope,
    @Param('service_account_id') id: string,
    @Body() dto: PatchServiceAccountDto,
    @IfMatch() ifMatch?: string,
  ): Promise<Versioned<ServiceAccountDto>> {
    return this.serviceAccounts.patch(scope, id, dto, ifMatch);
  }
}
