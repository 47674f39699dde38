import { Module } from '@nestjs/common';
import { AccountChangesModule } from '#platform/auth';
import { JobsModule } from '#platform/jobs';
import { MeController } from './me/me.controller';
import { MeService } from './me/me.service';
import { OrgController, PlatformOrgController } from './orgs/org.controller';
import { UserController } from './users/user.controller';
import { ApiController } from './apis/api.controller';
import { ApisModule } from './apis/apis.module';
import { AppController } from './apps/app.controller';
import { AppsModule } from './apps/apps.module';
import { AuditLogController } from './audit-log/audit-log.controller';
import { ERASURE, ResourcesModule } from '../resources';
import { AuditLogListRepository } from './audit-log/audit-log-list.repository';
import { ErasureController } from './erasures/erasure.controller';
import { ErasureService } from './erasures/erasure.service';
import { RepoController } from './repos/repo.controller';
import { SearchController } from './search/search.controller';
import { SearchModule } from './search/search.module';
import { RegistryModule } from './registry.module';
import { ApiKeyController } from './service-accounts/api-key.controller';
import { ServiceAccountController } from './service-accounts/service-account.controller';
import { SigningKeyController } from './orgs/signing-keys/org-signing-key.controller';
import { AuthorizationServerController } from './tokens/authorization-server.controller';
import { JwksController } from './tokens/jwks.controller';
import { RevocationRepository } from './tokens/revocation.repository';
import { RevocationService } from './tokens/revocation.service';
import { TokenController } from './tokens/token.controller';
import { TokenService } from './tokens/token.service';
import { MemberController } from './workspaces/member.controller';
import { UsageController } from './usage/usage.controller';
import { UsageModule } from './usage/usage.module';
import { WorkspaceController } from './workspaces/workspace.controller';

/** The routes under /registry/v1, and the providers that only they need. Only the API process has an authenticator. */
@Module({
  imports: [
    RegistryModule,
    AccountChangesModule,
    ApisModule,
    AppsModule,
    JobsModule.register(ERASURE),
    ResourcesModule,
    SearchModule,
    UsageModule,
  ],
  controllers: [
    MeController,
    OrgController,
    PlatformOrgController,
    UserController,
    WorkspaceController,
    MemberController,
    ServiceAccountController,
    ApiKeyController,
    TokenController,
    JwksController,
    AuthorizationServerController,
    SigningKeyController,
    AppController,
    ApiController,
    RepoController,
    AuditLogController,
    ErasureController,
    SearchController,
    UsageController,
  ],
  providers: [
    ErasureService,
    MeService,
    TokenService,
    RevocationService,
    RevocationRepository,
    AuditLogListRepository,
  ],
})
export class RegistryHttpModule {}
