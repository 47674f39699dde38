import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { AccountChangesModule, AccountDirectory } from '#platform/auth';
import { SecretsModule } from '#platform/secrets';
import { ResourcesModule } from '../resources';
import { AccountDirectoryRepository } from './authentication/account-directory.repository';
import { AccountDirectoryService } from './authentication/account-directory.service';
import { OrgEntity } from './orgs/org.entity';
import { OrgRepository } from './orgs/org.repository';
import { OrgService } from './orgs/org.service';
import { UserEntity } from './users/user.entity';
import { UserRepository } from './users/user.repository';
import { UserService } from './users/user.service';
import { PrincipalRepository } from './accounts/principal.repository';
import { RepoEntity } from './repos/repo.entity';
import { RepoRepository } from './repos/repo.repository';
import { RepoService } from './repos/repo.service';
import { ApiKeyEntity } from './service-accounts/api-key.entity';
import { ApiKeyRepository } from './service-accounts/api-key.repository';
import { ApiKeyService } from './service-accounts/api-key.service';
import { ApiKeySecrets } from './service-accounts/api-key-secret';
import { KeyAllows } from './service-accounts/key-allow';
import { ServiceAccountEntity } from './service-accounts/service-account.entity';
import { ServiceAccountRepository } from './service-accounts/service-account.repository';
import { ServiceAccountService } from './service-accounts/service-account.service';
import { OrgSigningKeyEntity } from './orgs/signing-keys/org-signing-key.entity';
import { OrgSigningKeyRepository } from './orgs/signing-keys/org-signing-key.repository';
import { OrgSigningService } from './orgs/signing-keys/org-signing.service';
import { SigningKeyRepository } from './tokens/signing-key.repository';
import { SigningKeyService } from './tokens/signing-key.service';
import { MemberEntity } from './workspaces/member.entity';
import { MemberRepository } from './workspaces/member.repository';
import { MemberService } from './workspaces/member.service';
import { RetentionPolicy } from './workspaces/retention-policy';
import { RetentionRepository } from './workspaces/retention.repository';
import { WorkspaceEntity } from './workspaces/workspace.entity';
import { WorkspaceRepository } from './workspaces/workspace.repository';
import { WorkspaceService } from './workspaces/workspace.service';

const SERVICES = [
  OrgService,
  UserService,
  RetentionPolicy,
  WorkspaceService,
  MemberService,
  ServiceAccountService,
  ApiKeyService,
  ApiKeySecrets,
  KeyAllows,
  SigningKeyService,
  OrgSigningService,
  RepoService,
];

const REPOSITORIES = [
  OrgRepository,
  UserRepository,
  RetentionRepository,
  WorkspaceRepository,
  MemberRepository,
  PrincipalRepository,
  ServiceAccountRepository,
  ApiKeyRepository,
  SigningKeyRepository,
  OrgSigningKeyRepository,
  AccountDirectoryRepository,
  RepoRepository,
];

/** Accounts and repositories, without routes, for the API and the worker. */
@Module({
  imports: [
    TypeOrmModule.forFeature([
      OrgEntity,
      UserEntity,
      WorkspaceEntity,
      MemberEntity,
      ServiceAccountEntity,
      ApiKeyEntity,
      OrgSigningKeyEntity,
      RepoEntity,
    ]),
    AccountChangesModule,
    SecretsModule,
    ResourcesModule,
  ],
  providers: [...SERVICES, ...REPOSITORIES, { provide: AccountDirectory, useClass: AccountDirectoryService }],
  exports: [...SERVICES, ...REPOSITORIES, AccountDirectory],
})
export class RegistryModule {}
