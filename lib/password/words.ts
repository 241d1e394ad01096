/**
 * Words that users put into passwords: greetings, names, seasons, football. English, German,
 * French, Spanish, Arabic, and Arabic as chatted in Latin letters. Written by hand for this
 * project; at most 20 KB, because browsers load it too. `phrases.ts` folds case, accents and the
 * German double spelling (`ü`, `ue`), so one spelling is enough, and phrases need no spaces.
 */
export const passwordWords = `
password passwords passcode passphrase passwd pwd secret topsecret login logon signin access letmein openup opensesame
welcome hello helloworld goodbye goodmorning goodnight changeme default master admin administrator root user guest test
testing tester demo temp temporary start begin iloveyou loveyou iloveu trustno nopassword mypassword yourpassword
newpassword oldpassword resetpassword forgotpassword whatever nothing something anything internet computer laptop
keyboard monitor server network website email account online windows google facebook instagram whatsapp youtube
tiktok netflix amazon apple iphone samsung android microsoft office company business manager boss work home house
spring summer autumn winter january february march april june july august september october november december
monday tuesday wednesday thursday friday saturday sunday weekend holiday vacation birthday christmas easter halloween
newyear happy happynewyear merrychristmas football soccer baseball basketball hockey tennis rugby cricket golf
champion champions league worldcup liverpool chelsea arsenal tottenham everton manchester united manutd mancity
newcastle celtic rangers leeds dortmund bayern juventus milan inter napoli ajax barcelona realmadrid ronaldo messi
neymar mbappe beckham maradona pele zidane haaland england london scotland ireland wales america newyork california
texas chicago boston canada australia sydney india mother father mummy daddy mommy sister brother baby family friend
friends love lover lovely heart angel princess prince queen king dragon tiger lion eagle wolf bear monkey horse
kitty puppy doggy flower rose sunshine sunflower rainbow star stars superstar moon sun sky ocean river forest
chocolate cookie banana orange cherry coffee cheese pizza butter sugar pepper ginger music guitar piano rock metal
superman batman spiderman starwars harrypotter pokemon pikachu minecraft fortnite roblox naruto matrix hunter shadow
freedom jesus christ heaven hell lord blessed god money dollar lucky winner power magic black white red green blue
yellow purple silver
lordoftherings gameofthrones hakunamatata thequickbrownfox neversaynever youllneverwalkalone golden gold diamond michael jessica jennifer ashley amanda daniel joshua matthew andrew david
james john robert william joseph thomas charles christopher anthony mark paul steven george kevin brian edward jason
emma olivia sophia isabella charlotte amelia emily elizabeth sarah samantha nicole michelle victoria rachel lauren
hannah megan rebecca maria jack harry oliver noah liam lucas ethan benjamin alexander max charlie buddy bailey molly
bella lucy daisy rocky monday1 one two three four five six seven eight nine zero hundred thousand

passwort passwörter kennwort losung losungswort zugang zugangsdaten zugangscode schlüssel schluessel geheim geheimnis
geheimwort streng anmelden anmeldung benutzer benutzername konto meinpasswort keinpasswort neuespasswort
lassmichrein keineahnung kartoffelsalat miasanmia
passwortvergessen vergessen sicher sicherheit sicherespasswort unsicher öffnen öffnedich sesamöffnedich sesam
hallo hallihallo halloduda hallöchen hallowelt tschüss tschüssi servus moin moinmoin grüezi grüßgott gutentag
gutenmorgen gutenabend gutenacht willkommen herzlich herzlichwillkommen danke dankeschön bitte bitteschön aufwiedersehen
ichliebedich ichliebdich ichhassedich ichdich liebedich liebe lieben liebling schatz schätzchen schatzi schatzilein
engel engelchen prinzessin prinz königin könig kaiser maus mäuschen mausi hase hasi hasilein bärchen bär süße süßer süß
herz herzchen herzblatt kuss küsschen traum sonnenschein sonne sonnenblume mond stern sterne sternchen himmel erde welt
wasser feuer wind blitz donner regenbogen regen schnee berg wald meer strand blume blumen rose garten natur
frühling frühjahr sommer herbst winter januar jänner februar märz april mai juni juli august september oktober november
dezember montag dienstag mittwoch donnerstag freitag samstag sonnabend sonntag wochenende feierabend urlaub ferien
weihnachten ostern silvester neujahr geburtstag fasching karneval oktoberfest advent nikolaus jahreszeit jahr heute
morgen gestern immer niemals niewieder egal scheiße scheißegal kacke arsch arschloch mist verdammt idiot blöd
fußball fussballgott bundesliga weltmeister meister meisterschaft deutschermeister tor torwart trainer verein
bayernmünchen fcbayern borussia bvb schalke hamburg hsv stpauli werder bremen leverkusen bayer wolfsburg stuttgart vfb
gladbach mönchengladbach eintracht frankfurt hertha union köln fckoeln effzeh nürnberg kaiserslautern hannover
hoffenheim augsburg freiburg mainz bochum leipzig dresden dynamo hansa rostock rapid austria salzburg sturm basel
youngboys klose müller schweinsteiger podolski neuer lahm ballack kahn deutschland germany österreich schweiz berlin
münchen wien zürich bern düsseldorf dortmund essen duisburg wuppertal bielefeld bonn münster karlsruhe mannheim
wiesbaden kiel lübeck erfurt magdeburg potsdam graz linz innsbruck genf europa bayern sachsen hessen schwaben tirol
mama papa mutti vati mutter vater oma opa eltern bruder schwester tochter sohn kind kinder familie freund freundin
freunde freundschaft hund hündchen katze kätzchen kater pferd pferde pony vogel löwe tiger wolf drache adler fuchs
schmetterling elefant schildkröte delfin affe esel schwein frosch spinne schlange biene bier bierchen wein schnaps
kaffee kuchen schokolade wurst bratwurst brezel käse kartoffel pommes döner pizza nudel spaghetti banane apfel
erdbeere kirsche auto mercedes porsche audi volkswagen golf opel traktor motorrad fahrrad lkw flugzeug zug haus wohnung
schule lehrer student arbeit büro chef firma kollege computer rechner tastatur drucker bildschirm handy telefon
internet netzwerk musik gitarre klavier schlager rammstein helene geld glück glücklich viel vielglück freiheit frieden
leben lebengenießen hoffnung gott jesus teufel hölle schwarz weiß rot rotweiß schwarzgelb grün blau blauweiß gelb lila
gold golden silber michael thomas andreas stefan stephan christian matthias martin markus peter wolfgang jürgen klaus
hans günter günther horst uwe bernd frank jörg sven kai lukas leon finn jonas felix paul maximilian moritz tobias
florian sebastian dominik philipp fabian niklas tim jan julian simon daniel alexander sabine petra monika susanne
andrea claudia birgit heike gabriele stefanie katrin kathrin nicole anja tanja sandra silke melanie julia lisa laura
lena leonie hanna hannah anna annika marie mia lea sophie johanna katharina franziska jasmin vanessa ursula renate
helga ingrid karin eins zwei drei vier fünf sechs sieben acht neun zehn elf qwertz qwertzu qwertzui qwertzuiop
qwertzuiopü asdfgh asdfghjklö yxcvbn yxcvbnm test testtest testpasswort probe anfang ende standard gast verwaltung

motdepasse motpasse mdp monmotdepasse nouveaumotdepasse motdepasseoublié oublié mot passe codesecret secrète sésame
ouvretoi sésameouvretoi connexion identifiant utilisateur administrateur invité accès compte sécurité bienvenue
bonjour bonjourtoutlemonde bonsoir bonnenuit bonnejournée salut coucou allô merci mercibeaucoup aurevoir àbientôt
s'ilvousplaît silvousplait jetaime jtaime jetadore jetaimefort moncoeur coeur monamour amour amoureux toujours
pourtoujours chéri chérie monchéri machérie bébé monbébé doudou loulou chouchou poupée princesse prince reine roi ange
petitange soleil lune étoile étoiles ciel terre monde mer plage montagne neige pluie vent feu eau fleur fleurs arc
printemps été automne hiver janvier février mars avril mai juin juillet août septembre octobre novembre décembre lundi
mardi mercredi jeudi vendredi samedi dimanche vacances weekend noël joyeuxnoël pâques anniversaire bonneannée année
aujourd'hui demain hier jamais merde putain connard salope chiant bordel football foot ballon ligue champion champions
championsdumonde allezlesbleus lesbleus allez equipe équipe marseille allezlom olympique psg parissaintgermain paris
parisien lyon lille monaco bordeaux nantes rennes nice lens strasbourg toulouse montpellier saintetienne griezmann
benzema platini cantona france français française belgique bruxelles suisse québec genève lausanne maroc algérie
tunisie maman papa mamie papy mère père frère soeur fils fille enfant enfants famille ami amie amis copain copine
chien chat chaton minou cheval chevaux lapin oiseau papillon dauphin tigre loup ours panthère licorne dragon souris
tortue grenouille vache cochon chocolat fromage baguette croissant camembert vin bière café gâteau fraise pomme cerise
orange citron voiture renault peugeot citroën moto vélo maison école travail bureau ordinateur clavier musique guitare
piano chanson argent bonheur heureux chance liberté égalité fraternité paix vie espoir dieu diable noir blanc rouge
vert bleu jaune violet doré argenté jean pierre michel philippe alain nicolas christophe laurent stéphane julien
thierry olivier guillaume sébastien frédéric pascal antoine françois mathieu vincent maxime alexandre thomas lucas hugo
louis gabriel raphaël arthur jules adam enzo théo nathan romain marie nathalie isabelle sylvie catherine valérie
sophie céline aurélie émilie julie camille chloé léa manon emma inès jade louise alice sarah laura pauline charlotte
mathilde élodie virginie sandrine véronique un deux trois quatre cinq six sept huit neuf dix azerty azertyuiop qsdfgh
qsdfghjklm wxcvbn doudoune toto titi loulou nounours bisous bisou calin câlin

contraseña contrasena micontraseña nuevacontraseña clave miclave claveacceso clavesecreta secreto secreta acceso entrar
ábretesésamo usuario administrador invitado cuenta seguridad seguro bienvenido bienvenida bienvenidos iniciar sesión
hola holamundo holahola adiós buenosdías buenasnoches buenastardes buenas gracias muchasgracias porfavor hastaluego
hastalavista quetal amigo amiga amigos amistad teamo teamomucho tequiero tequieromucho mivida miamor amor amorcito
amores corazón corazoncito cariño cielo cielito mibebe bebé bebita princesa príncipe reina rey ángel angelito nena nene
guapa guapo hermosa hermoso bonita preciosa sol luna estrella estrellas estrellita mundo tierra agua fuego viento
lluvia nieve playa montaña flor flores rosa jardín primavera verano otoño invierno enero febrero marzo abril mayo junio
julio agosto septiembre setiembre octubre noviembre diciembre lunes martes miércoles jueves viernes sábado domingo
vacaciones navidad feliznavidad pascua semanasanta cumpleaños feliz felizcumpleaños añonuevo felizaño hoy mañana ayer
siempre parasiempre nunca mierda puta puto cabrón pendejo joder carajo coño fútbol futbol balón liga campeón campeones
gol golazo barça forzabarca halamadrid real madrid madridista atlético atleti sevilla betis valencia athletic bilbao
bocajuniors boca riverplate river independiente racing peñarol américa chivas guadalajara cruzazul pumas tigres
iniesta xavi ramos casillas raul riquelme españa español española méxico mexicano argentina colombia chile perú
venezuela ecuador bolivia uruguay paraguay cuba bogotá lima caracas buenosaires montevideo quito zaragoza málaga
mamá papá mamita papito madre padre hermano hermana hijo hija hijos niño niña niños abuela abuelo familia mifamilia
esposo esposa novio novia perro perrito gato gatito caballo conejo pájaro mariposa delfín tigre león lobo oso pantera
unicornio dragón ratón tortuga rana vaca chocolate queso tortilla paella jamón cerveza vino tequila café manzana fresa
cereza naranja limón plátano coche carro moto bicicleta casa micasa escuela colegio trabajo oficina jefe ordenador
computadora teclado música guitarra canción dinero suerte buenasuerte felicidad libertad paz vida esperanza dios
diosesamor jesús jesucristo jesusteama virgen diablo infierno cielo negro blanco rojo verde azul amarillo morado dorado
plata oro josé juan antonio manuel francisco carlos miguel pedro pablo jorge luis javier alejandro fernando rafael
sergio diego andrés ricardo eduardo roberto álvaro adrián mateo santiago sebastián daniel david maría carmen josefa
ana isabel dolores pilar teresa rosa lucía paula sara elena cristina marta laura patricia raquel beatriz silvia
alejandra valentina camila gabriela daniela sofía martina valeria mariana fernanda guadalupe esperanza rocío uno dos
tres cuatro cinco seis siete ocho nueve diez asdfghjklñ estrellita muñeca muñeco payaso tonto loco loca chiquita

كلمة السر كلمةالسر كلمةالمرور المرور كلمه مرور سر سري الرقم السري رقمسري باسورد باسوورد دخول تسجيل حساب مفتاح
افتحياسمسم سمسم مدير مستخدم جديد مرحبا مرحبابك اهلا اهلاوسهلا وسهلا سلام السلام السلامعليكم عليكم صباح صباحالخير
الخير مساء مساءالخير شكرا شكراجزيلا معالسلامة احبك بحبك انااحبك حب حبي حبيبي حبيبتي حبيب قلبي روحي عمري حياتي
قلب روح عمر حياة ملك ملكة امير اميرة قمر شمس نجمة نجوم سماء دنيا بحر ورد وردة زهرة ربيع الربيع صيف الصيف خريف
الخريف شتاء الشتاء يناير فبراير مارس ابريل مايو يونيو يوليو اغسطس سبتمبر اكتوبر نوفمبر ديسمبر السبت الاحد الاثنين
الثلاثاء الاربعاء الخميس الجمعة يوم اليوم غدا رمضان رمضانكريم عيد عيدمبارك العيد مبارك سنة سعيد سعيدة كرة القدم
كرةالقدم كورة الاهلي الزمالك الهلال النصر الاتحاد الوداد الرجاء الترجي برشلونة ريال مدريد ريالمدريد ليفربول
رونالدو ميسي محمدصلاح صلاح الله اللهاكبر بسمالله بسم الحمدلله الحمد سبحانالله ماشاءالله انشاءالله لاالهالاالله
استغفرالله يارب القران قران اسلام الاسلام مسلم مكة المدينة القدس فلسطين مصر القاهرة السعودية الرياض جدة الامارات
دبي قطر الكويت البحرين عمان اليمن العراق بغداد سوريا دمشق لبنان بيروت الاردن المغرب الجزائر تونس ليبيا السودان
ماما بابا امي ابي اخي اختي ابن بنت بنتي ابني ولد اولاد عائلة صديق اصدقاء قطة كلب حصان اسد نمر ذئب محمد احمد محمود
مصطفى علي حسن حسين عمرو خالد ابراهيم يوسف عبدالله عبدالرحمن سعد فهد سلمان فيصل سلطان ناصر طارق كريم فاطمة عائشة
مريم خديجة زينب سارة نور نورا هدى ليلى امل ايمان دينا رنا ريم سلمى ياسمين واحد اثنان ثلاثة اربعة خمسة ضصثقفغ شسيبل
اختبار تجربة شركة بيت سيارة عمل مدرسة موسيقى قهوة فلوس حرية سلامه

salam salaam assalam assalamu alaikum aleykum salamalaikum salamaleikum salamalikom walaikum marhaba marhaban mar7aba
ahlan ahla ahlanwasahlan wasahlan sahlan sabah khair sabahalkhair sabahelkheir kheir masaa masaalkhair shukran shokran
choukran afwan habibi habibti habib habiba 7abibi 7abibti 7abib hubbi 7obbi hobbi albi 2albi qalbi galbi rouhi ro7i
hayati 7ayati omri 3omri uhibbuk ohiboka bahebak bahibak bahebek ba7ebak b7bk ana anabahebak yalla yallah khalas
5alas inshallah insha'allah mashallah alhamdulillah alhamdulilah elhamdulillah hamdulillah bismillah bismilah
subhanallah allahuakbar allah allahakbar astaghfirullah yarab yarabb rabbi quran islam muslim ramadan ramadankareem
kareem eid eidmubarak mubarak kalimat kalima kilmat kelmat kalimatalsirr kalimatussir kalimatalmurur kelmetelser
kelmetelmoror alsirr assirr elserr sirr sirri serri murur almurur elmoror dukhul miftah mafteh moftah iftahyasimsim
simsim mudir jadid gedid gadid rabi alrabi sayf saif seif elseif alsayf kharif elkharif shita shitaa chita elsheta
yanayir fibrayir maris abril mayo yunyu yulyu aghustus sibtambar uktubar nufambar disambar sabt elsabt ahad elahad
ithnayn etnein thulatha talat arbiaa arbaa khamis elkhamis jumaa gomaa elgomaa youm yawm bukra bokra kura koora kora
kurat qadam kuratalqadam ahly alahly elahly zamalek elzamalek hilal alhilal nassr alnassr ittihad wydad wydadi raja
rajawi esperance taraji barshelona salah mosalah 3asal asal amar 2amar qamar gamar shams nour noor noura ward warda
zahra dunya donia bahr mama baba ummi ommi abi akhi okhti bint bent walad awlad 3aila sadiq asad nimr 7ob hob masr misr
cairo qahira dubai qatar doha kuwait riyadh jeddah makkah mecca madina iraq baghdad syria damascus dimashq lebanon
beirut jordan amman maghrib morocco casablanca algeria jazair tunis tunisia libya sudan palestine falastin filastin
alquds gaza mohammed mohamed muhammad mohammad mo7amed mo7ammad ahmed ahmad a7med a7mad mahmoud ma7moud mustafa mostafa
ali hassan 7assan hussein 7ussein omar 3omar amr 3amr khaled khalid 5aled ibrahim youssef yousef yusuf abdullah
abdallah 3abdallah abdelrahman saad fahad salman faisal sultan nasser tarek tariq karim hamza bilal fatima fatma aisha
aicha 3aisha mariam maryam khadija zainab zeinab sara huda layla leila amal iman dina rana reem salma yasmin yasmine
wahid wahed ithnan tlata thalatha arba khamsa sitta sabaa tamania
`

/** Function words, which an attacker combines with any other word. */
export const littleWords = `
a an the my our your his her i im you me we is it of to in on for and or not no yes so be this that with from ich du er
sie es wir ihr mein meine meiner dein deine unser der die das den dem ein eine ist bin bist sind und oder nicht kein in
im am zu von mit für auf ja nein so wie was wer sehr nur mich dich mir dir je tu il elle nous vous on mon ma mes ton ta
tes le la les l' un une des du de d' et ou est suis es pas non oui à au aux en pour avec que qui ce c' toi moi yo tú él
ella mi mis tu tus su el los las lo una y o es soy eres no sí de del al en por para con que muy te me ti ana enta enti
ya al el wa ال و يا انا انت في من على هو هي لا
`
