// Package e2e rolls sites out on real machines: the nodes of test/lab, each with its own systemd, sshd and apt.
// Terraform, the provider and the companion are the real ones too. The tests run where root and network namespaces are
// available, and say loudly when they do not run; [TestPackages] runs the tests for real nodes of the other packages
// (TestLab... in their lab_test.go) along with them.
//
// What real nodes taught is tested by name. Rules of execution.md, section 2; remote is planner/converge/remote:
//
//	1  sessions are capped, a refused one is busy     transport TestLabRefusedSessions, TestSessionsAreCapped, TestRefusedSessionIsBusyNotDead;
//	                                                  e2e TestFrugal (sessions <= phases + 1)
//	2  one connection per node, resets are retried    e2e TestFrugal; transport TestLabManyHandshakesAtOnce, TestResetsAreRetried
//	3  a silent node is noticed within about 8 s      e2e TestNodesHangMidRun; transport and remote TestLabNodesThatVanish; transport TestHangIsDetected;
//	                                                  remote TestLabLongSession (and a quiet command is not a silent node)
//	4  a lost controller: commands are ended, no      e2e TestKilled; remote TestLabCancel; converge TestTheControllerIsLost,
//	   summary means unknown, the next run goes on    TestSilenceBeforeTheCatalogEndsTheSession; slipway-helper TestTheProcessOutlivesItsReader
//	5  secrets on standard input only                 e2e TestSecretsStayOnTheWire; remote TestSecretsStayOutOfTheCommand; converge TestSecretsAreNotShown;
//	                                                  resources TestSecretsStayOut
//	6  each result is sent when it is known           e2e TestNodesHangMidRun; remote TestResultsComeAsTheyAreKnown, TestLabNodesThatVanish
//	7  strict and fresh decoding, protocol version    converge TestCatalogDecoding, TestCatalogsThatAreNoneAreRefused; remote TestWhatHelpersSend
//	8  checked right before it is applied             e2e TestWholeLife (what was put right since the plan is left alone); converge TestApplyIsVerified
//	   the helper is sent once and kept               e2e TestFrugal; remote TestTheHelperIsSentOnceAndKept, TestLabPrepare
//
// Signals and output, terraform.md 5.7:
//
//	first SIGINT, to the whole group; SIGTERM         e2e TestInterrupt; rollout TestScripts/interrupted...
//	second SIGINT                                     e2e TestKilled/interrupted twice
//	SIGHUP, a closed terminal                         e2e TestKilled/terminal closed
//	SIGKILL of Terraform and provider                 e2e TestKilled/with its provider
//	children have a process group of their own        converge TestTheWholeGroupEnds
//	warnings come once, at the end                    e2e TestSeed001, TestCutOff, TestRemovedNodes
//	progress is in the journal                        e2e TestSeed001 (order of groups), TestNodesHangMidRun, TestSeed003 (order of tasks)
//	the provider does not outlive Terraform           e2e TestKilled/terminal closed
//
// Plans show the work (design.md 10):
//
//	the steps of the last run again, reinstalled,     e2e TestPlanShowsTheWork
//	   failed, interrupted, without refresh
//	a creation that failed                            e2e TestTaintedPlanShowsTheCreation
//
// Worked examples and windows:
//
//	seed 001, the five groups                         e2e TestSeed001
//	seed 003, stages and numbers across plugins       e2e TestSeed003; what fails TestPluginFailures, a run that is killed TestPluginKilled
//	fuel.md A4, types of tasks                        e2e TestSeed003 (shell), TestPuppet, TestReboot
//	fuel.md A7, tasks that name each other            e2e TestGraphTasks
//	seed 004, overrides in scopes and with options    e2e TestSeed004
//	litp.md 4.6, never more locked than max_parallel  e2e TestRolling
//	design.md 6, batches, health checks and soaks     e2e TestBatches
//	design.md 6, the brake, between locks             e2e TestBrake
//	runs approve, in a second terminal                e2e TestApprovalFromASecondTerminal
//	maintenance windows                               e2e TestMaintenanceWindow
//	a session lost before it started anything         e2e TestLostBeforeItStarted
//	lsm.md 20, services, creation to deletion         e2e TestServiceLife (with a rollback, and a journal that is lost), TestModuleForTwoSites
//	lsm.md 20, recovery at start-up, stale versions   e2e TestServiceKilled (finished, rolled back)
//	litp.md 78, new nodes that need not be locked     e2e TestNewNodesAreSpared
//	litp.md 84, left locked is unlocked before locks  e2e TestLeftLocked (killed), TestRolling (an unlock that fails)
package e2e
