import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { AccountChangesModule, AccountDirectory } from '#platform/auth';
import { SecretsModule } from '#platform/secrets';
import { AccountDirectoryRepository } from './accounts/account-directory.repository';
import { AccountDirectoryService } from './accounts/account-directory.service';
import { OrgEntity } from './accounts/org.entity';
import { OrganizationRepository } from './accounts/org.repository';
import { OrgService } from './accounts/org.service';
import { UserEntity } from './accounts/user.entity';
import { UserRepository } from './accounts/user.repository';
import { UserService } from './accounts/user.service';
import { WorkspaceAccessModule } from './access/workspace-access.module';
import { AuditLogModule } from './audit/audit-log.module';
import { RepoEntity } from './repos/repo.entity';
import { RepoRepository } from './repos/repo.repository';
import { RepoService } from './repos/repo.service';
import { SearchIndexModule } from './search/search-index.module';
import { ApiKeyEntity } from './service-accounts/api-key.entity';
import { ApiKeyRepository } from './service-accounts/api-key.repository';
import { ApiKeyService } from './service-accounts/api-key.service';
import { ApiKeySecrets } from './service-accounts/api-key-secret';
import { ServiceAccountEntity } from './service-accounts/service-account.entity';
import { ServiceAccountRepository } from './service-accounts/service-account.repository';
import { ServiceAccountService } from './service-accounts/service-account.service';
import { SigningKeyRepository } from './tokens/signing-key.repository';
import { SigningKeyService } from './tokens/signing-key.service';
import { MemberEntity } from './workspaces/member.entity';
import { MemberRepository } from './workspaces/member.repository';
import { MemberService } from './workspaces/member.service';
import { WorkspaceEntity } from './workspaces/workspace.entity';
import { WorkspacesRepository } from './workspaces/workspace.repository';
import { WorkspaceService } from './workspaces/workspace.service';

const SERVICES = [
  OrgService,
  UserService,
  WorkspaceService,
  MemberService,
  ServiceAccountService,
  ApiKeyService,
  ApiKeySecrets,
  SigningKeyService,
  RepoService,
];

const REPOSITORIES = [
  OrganizationRepository,
  UserRepository,
  WorkspacesRepository,
  MemberRepository,
  ServiceAccountRepository,
  ApiKeyRepository,
  SigningKeyRepository,
  AccountDirectoryRepository,
  RepoRepository,
];

/** The registry: accounts, workspaces, service accounts, repositories. Its logic, for the API and the worker alike. */
@Module({
  imports: [
    TypeOrmModule.forFeature([
      OrgEntity,
      UserEntity,
      WorkspaceEntity,
      MemberEntity,
      ServiceAccountEntity,
      ApiKeyEntity,
      RepoEntity,
    ]),
    AccountChangesModule,
    SecretsModule,
    AuditLogModule,
    WorkspaceAccessModule,
    SearchIndexModule,
  ],
  providers: [...SERVICES, ...REPOSITORIES, { provide: AccountDirectory, useClass: AccountDirectoryService }],
  exports: [...SERVICES, ...REPOSITORIES, AccountDirectory],
})
export class RegistryModule {}
