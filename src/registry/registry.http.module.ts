import { Module } from '@nestjs/common';
import { AccountChangesModule } from '#platform/auth';
import { MeController } from './accounts/me.controller';
import { MeService } from './accounts/me.service';
import { OrgController } from './accounts/org.controller';
import { PlatformOrgController } from './accounts/platform-org.controller';
import { UserController } from './accounts/user.controller';
import { AppController } from './apps/app.controller';
import { AppsModule } from './apps/apps.module';
import { AuditLogController } from './audit/audit-log.controller';
import { AuditLogModule } from './audit/audit-log.module';
import { AuditLogService } from './audit/audit-log.service';
import { RepoController } from './repos/repo.controller';
import { SearchController } from './search/search.controller';
import { SearchModule } from './search/search.module';
import { RegistryModule } from './registry.module';
import { ApiKeyController } from './service-accounts/api-key.controller';
import { ServiceAccountController } from './service-accounts/service-account.controller';
import { JwksController } from './tokens/jwks.controller';
import { RevocationRepository } from './tokens/revocation.repository';
import { RevocationService } from './tokens/revocation.service';
import { TokenController } from './tokens/token.controller';
import { TokenService } from './tokens/token.service';
import { MemberController } from './workspaces/member.controller';
import { WorkspaceController } from './workspaces/workspace.controller';

/** The routes under /registry/v1, and what only they need: it asks for the authenticator, which is the API's. */
@Module({
  imports: [RegistryModule, AccountChangesModule, AppsModule, AuditLogModule, SearchModule],
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
    AppController,
    RepoController,
    AuditLogController,
    SearchController,
  ],
  providers: [MeService, TokenService, RevocationService, RevocationRepository, AuditLogService],
})
export class RegistryHttpModule {}
