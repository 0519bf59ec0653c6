// A browser that was started before: no first run, no questions after it was switched off.
pref("app.normandy.enabled", false);
pref("app.update.auto", false);
pref("browser.aboutwelcome.enabled", false);
pref("browser.sessionstore.resume_from_crash", false);
pref("browser.shell.checkDefaultBrowser", false);
pref("browser.startup.homepage_override.mstone", "ignore");
pref("datareporting.policy.dataSubmissionEnabled", false);
pref("network.captive-portal-service.enabled", false);
pref("network.connectivity-service.enabled", false);
pref("toolkit.startup.max_resumed_crashes", -1);
